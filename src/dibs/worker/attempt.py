"""One try of the work, as the one who does it sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from dibs.errors import ConfigError
from dibs.jobs.performance import MOST_REASON
from dibs.model.bounded import bounded
from dibs.model.rota import Ending

if TYPE_CHECKING:
    from dibs.flows.working import Turn
    from dibs.lease import Lease

UNSAID = "it ended without done()"


class Attempt:
    """One try, under a lease. Whatever is said of it first holds, by whichever thread or task."""

    is_deferred = False
    _is_over = False
    _ending: Ending | None = None

    def __init__(self, lease: Lease, turn: Turn) -> None:
        self.lease, self.turn = lease, turn
        self._still_to_say = {"ending"}
        self._is_said, self._bells = threading.Event(), list[Callable[[], object]]()

    @property
    def number(self) -> int:
        """Which of the attempts of this round it is; the first is 1."""
        return self.turn.attempt

    @property
    def is_last(self) -> bool:
        """Whether nobody tries again if this one fails."""
        return self.turn.is_last

    @property
    def fence(self) -> int:
        """The number to send along with every write: higher than that of every attempt before."""
        return self.lease.fence

    def done(self) -> None:
        """The work is done: once the handler, or the body of the loop, has ended, the others are told.

        `LeaseLost` if the attempt is not ours any more: another one has taken over.
        """
        self._say(Ending("ok"))

    def fail(self, reason: str = "") -> None:
        """The work was not done; the next one tries at once."""
        if not isinstance(cast("object", reason), str):
            raise ConfigError(f"fail({reason!r}): give the reason as text, or none")
        self._say(Ending("failed", bounded(reason, MOST_REASON)))

    def defer(self) -> Attempt:
        """The handler will end before the work does: somebody says `done()` or `fail()` later. The lease is kept."""
        self._refuse_over()
        self.is_deferred = True
        return self

    def __repr__(self) -> str:
        last = " the last" if self.is_last else ""
        return f"<Attempt #{self.number}{last} of {self.lease.name!r} {'over' if self._is_over else 'under way'}>"

    # For the one who gives it out.

    def close(self, otherwise: Ending) -> Ending:
        """It is over: what was said of it, if anything was."""
        if self._first():
            self._ending = otherwise
        self._is_over = True
        return self._ending or otherwise

    def ring(self, _: object = None) -> None:
        """Whoever waits for a word need not wait longer: it was said, or the lease is lost."""
        self._is_said.set()
        for bell in list(self._bells):
            bell()

    def wait(self) -> None:
        """Wait for a word, if one was promised."""
        if self._is_awaited:
            self._is_said.wait()

    async def await_it(self) -> None:
        """Wait for a word, if one was promised."""
        if not self._is_awaited:
            return
        from asyncio import get_running_loop  # noqa: PLC0415 - see Engine.aio

        loop = get_running_loop()
        said = loop.create_future()

        def answer() -> None:
            if not said.done():
                said.set_result(None)

        def bell() -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(answer)

        self._bells.append(bell)
        if not self._is_said.is_set():
            await said

    @property
    def _is_awaited(self) -> bool:
        return self.is_deferred and not self.lease.lost

    def _say(self, ending: Ending) -> None:
        self._refuse_over()
        if self._first():
            self._ending = ending
            self.ring()

    def _first(self) -> bool:
        try:
            self._still_to_say.remove("ending")
        except KeyError:
            return False
        return True

    def _refuse_over(self) -> None:
        if not self._is_over:
            return
        if self.lease.lost:
            self.lease.ensure()
        raise ConfigError(
            f"attempt #{self.number} of {self.lease.name!r} is over: say what came of it before its handler ends, or "
            "the body of its loop; or call defer() there"
        )
