"""One server of several: it votes, counts, and knows whether it has forgotten all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Said
from dibs.model.quorum import Absent, Register
from dibs.ports.store import Command
from dibs.stores.memory.server import BLANK
from dibs.testing.simulation.quorum.cells import CellServer, DirectCells

if TYPE_CHECKING:
    from dibs.model.asks import Acquire, Push, Recalled
    from dibs.model.quorum import Christening
    from dibs.stores.quorum.node import Paper


class NodeServer(CellServer):
    """The memory store with one vote."""

    hands_over = False
    longest: float | None = None
    """The longest TTL it was asked for; `None` if it has forgotten all."""
    fresh_since: float | None = None

    def execute(self, words: Sequence[Any], now: float, listens: Callable[[str], bool]) -> tuple[Any, Sequence[Push]]:
        match words:
            case ("vote", name, ask):
                return self._vote(name, ask, now, listens)
            case ("raise", name, owner, fence):
                answer: Any = self._raised(name, owner, fence, now)
            case ("remembered", name):
                answer = Absent.NEW if self.longest is None else self._recalled(name, now)
            case ("census",):
                answer = self._register(now)
            case ("christen", told, fresh):
                answer = self._christened(told, fresh, now)
            case _:
                return super().execute(words, now, listens)
        return answer, ()

    def _vote(self, name: str, ask: Acquire, now: float, listens: Callable[[str], bool]) -> tuple[Any, Sequence[Push]]:
        if self.longest is None:
            return Absent.NEW, ()
        self.longest = max(self.longest, ask.ttl)
        answer, pushes = super().execute(("ask", name, ask), now, listens)
        return (Absent.LATE if answer is Said.REFUSED else answer), pushes

    def forget(self) -> None:
        super().forget()
        self.longest = self.fresh_since = None

    def _raised(self, name: str, owner: str, fence: int, now: float) -> int | None:
        lock = self.locks.get(name, BLANK).at(now)
        if lock.held_by(owner) is None:
            return None
        holders = tuple(each._replace(fence=fence) if each.owner == owner else each for each in lock.holders)
        self.locks[name] = replace(lock, holders=holders)
        if self.last_fence >= fence:
            return self.last_fence
        self.last_fence = fence
        return 0

    def _register(self, now: float) -> Register:
        if self.longest is not None:
            return Register(self.last_fence, self.longest, is_born=True)
        self.fresh_since = now if self.fresh_since is None else self.fresh_since
        silent_for = max(now - self.fresh_since, 0.0)
        return Register(self.last_fence, 0.0, is_born=False, silent_for=silent_for, fresh=self.fresh_since)

    def _christened(self, told: Christening, fresh: float | None, now: float) -> float:
        if self.longest is not None:
            return 0.0
        self.fresh_since = now if self.fresh_since is None else self.fresh_since
        left = self.fresh_since + told.wait - now
        if left > 0 or fresh != self.fresh_since:
            return max(left, 0.0)
        self.last_fence, self.longest, self.fresh_since = max(self.last_fence, told.counter), told.longest, None
        return 0.0


class DirectNode(DirectCells):
    """How such a server is asked."""

    def introduction(self) -> Sequence[Command[object]]:
        return ()

    def vote(self, name: str, ask: Acquire, floor: int) -> Paper:
        def worded(not_after: float) -> Sequence[Any]:
            return ("vote", self._prefix + name, replace(ask, not_after=not_after, seen=floor))

        return worded, _as_it_is

    def raise_(self, name: str, owner: str, fence: int) -> Command[int | None]:
        return Command(("raise", self._prefix + name, owner, fence), _as_it_is, self._node)

    def census(self) -> Command[Register]:
        return Command(("census",), _as_it_is, self._node)

    def christen(self, told: Christening, fresh: float | None) -> Command[float]:
        return Command(("christen", told, fresh), _as_it_is, self._node)

    def remembered(self, name: str) -> Command[Recalled | Absent]:
        return Command(("remembered", self._prefix + name), _as_it_is, self._node)

    def fsync(self) -> Command[Sequence[str]]:
        return Command(("time",), lambda _: (), self._node)


def _as_it_is(reply: Any) -> Any:
    return reply
