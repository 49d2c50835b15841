"""Work that is to be done once a window, by whichever process comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.flows import locking
from dibs.flows.hold import Hold, Watchers
from dibs.flows.remembering import Claim, Place, arrive
from dibs.model.asks import Memo
from dibs.model.request import PATIENCE

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.flows.locking import Denied
    from dibs.model.request import Request
    from dibs.testing.simulation.process import Process

DONE = "done"


class Errand:
    """One process's way to the work, and out again."""

    def __init__(self, process: Process, request: Request, watchers: Watchers, *, window: float) -> None:
        self.name = request.name
        self._process, self._request, self._watchers, self._window = process, request, watchers, window
        self.hold: Hold | None = None
        self._claim: Claim | None = None

    async def begin(self) -> Hold | Denied | str:
        """Go in, or learn who is at it, or that it was done."""
        came = await arrive(self, lambda seen, _: seen.text)
        if not isinstance(came, Claim):
            return came
        self._claim, hold = came, self.hold
        if hold is None:
            raise AssertionError("claimed without a lock")
        return hold

    def memo(self) -> Memo:
        """What to remember when it is done: until the end of the window in which it was claimed."""
        claimed_at, _ = (self._claim or Claim(None)).moments(self._process.world.now())
        return Memo(DONE, (claimed_at // self._window + 1) * self._window)

    def outside(self) -> Place:
        """Where to look before we go in."""
        return Place(self._process.world, self._process.desk, PATIENCE)

    inside = outside

    def bears(self, silence: StoreUnreachable) -> bool:
        """Nobody goes in without having looked."""
        return False

    async def enter(self) -> Denied | None:
        """Take the lock."""
        process = self._process
        taken = await locking.acquire(process.world, process.desk, self._request, watchers=self._watchers)
        if isinstance(taken, Hold):
            self.hold = taken
            return None
        return taken

    async def leave(self, error: BaseException | None) -> None:
        """Give the lock back: the work is done already, or we do not know."""
        hold, self.hold = self.hold, None
        if hold is not None:
            await locking.release(self._process.world, self._process.desk, hold)
