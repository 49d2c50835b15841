"""Who strikes the holder of the lock now and then: it is killed, or stopped until another has taken over."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dibs import DibsError, LeaseLost
from dibs.cli.demo.worker import COUNTER, TTL
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs import Dibs
    from dibs.cli.demo.crew import Crew
    from dibs.cli.demo.ledger import Ledger, Visit
    from dibs.cli.demo.watch import Watch

TRIES = 20
"""How often it looks for somebody with the lock in its hands before it waits for a better moment."""
PROBE, A_MOMENT = "demo:probe", 0.2


@dataclass(frozen=True, slots=True)
class Strike:
    """A worker that was killed, or paused, with the lock in its hands."""

    worker: str
    fence: int
    struck_at: float
    slept_before: float
    is_fatal: bool

    @property
    def how(self) -> str:
        """In a word."""
        return "killed" if self.is_fatal else "paused"

    def age(self, now: float, watch: Watch) -> float:
        """How long ago it was, without what was slept through since."""
        return max(now - self.struck_at - (watch.slept - self.slept_before), 0.0)


@dataclass(frozen=True, slots=True)
class Takeover:
    """A struck worker's lock in the hands of the next."""

    strike: Strike
    heir: str
    after: float


def probe(client: Dibs, *, within: float) -> None:
    """Take some other lock, to see whether the store can be written; `StoreUnreachable` if not."""
    with suppress(LeaseLost), client.lock(PROBE, ttl=TTL, wait=within):
        pass


class Fate:
    """Strikes one at a time. The workers are not told, and cannot know."""

    def __init__(self, client: Dibs, ledger: Ledger, crew: Crew, tell: Callable[[str], None]) -> None:
        self.pending: Strike | None = None
        self.takeovers: list[Takeover] = []
        self._client, self._ledger, self._crew, self._tell = client, ledger, crew, tell

    def strike(self, watch: Watch) -> bool:
        """Kill whoever holds the lock; or, each third time, pause it. False if nobody could be caught."""
        is_fatal = len(self.takeovers) % 3 != 1
        for _ in range(TRIES if self.pending is None else 0):
            if (visit := self._caught(is_fatal=is_fatal)) is not None:
                self.pending = Strike(visit.worker, visit.fence, boottime(), watch.slept, is_fatal)
                self._tell(f"{visit.worker} {self.pending.how}, holding {COUNTER}")
                return True
        return False

    def see(self, watch: Watch) -> None:
        """Has somebody taken over? Then the dead one comes back to life, and the paused one goes on, too late."""
        if self.pending is None:
            return
        visit = self._ledger.visit(self.pending.fence)
        if visit is None:  # somebody else has woken it up, in time for its write
            self.pending = None
        elif visit.overtaken_at is not None:
            self._take_over(self.pending, visit.heir, visit.overtaken_at, watch)

    def _caught(self, *, is_fatal: bool) -> Visit | None:
        """One that was struck while it was inside; looked at again when it stands still, as it may have just left."""
        visit = self._ledger.inside()
        if visit is None or visit.worker == self._last_struck():
            return None
        member = self._crew[visit.worker]
        # Of the paused we want to see a late write, but an async body is cancelled as soon as it goes on.
        if (not is_fatal and member.face != "with") or not member.freeze():
            return None
        if self._ledger.inside() != visit or not (is_fatal or self._all_others_can_work()):
            member.thaw()
            return None
        if is_fatal:
            member.kill()
        return visit

    def _last_struck(self) -> str:
        return self.takeovers[-1].strike.worker if self.takeovers else ""

    def _all_others_can_work(self) -> bool:
        """Or was it stopped in the middle of a transaction, and would keep everybody out by that?"""
        try:
            probe(self._client, within=A_MOMENT)
        except DibsError:
            return False
        return self._ledger.is_free()

    def _take_over(self, strike: Strike, heir: str, at: float, watch: Watch) -> None:
        after = strike.age(at, watch)
        self.takeovers.append(Takeover(strike, heir, after))
        self.pending = None
        member = self._crew[strike.worker]
        if strike.is_fatal:
            self._ledger.forget(strike.fence)
            member.start()
            self._tell(f"{heir} took over {after:.2f}s later; {member.name} starts again as process {member.pid}")
        else:
            member.thaw()
            self._tell(f"{heir} took over {after:.2f}s later; {member.name} goes on, too late")
