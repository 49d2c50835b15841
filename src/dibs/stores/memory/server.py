"""The memory store itself: a dict of locks that executes the transition table. Knows no clock and no thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dibs.model.lock import LockState, Moment, turn
from dibs.model.views import view

if TYPE_CHECKING:
    from dibs.model.asks import Answer, Ask, Push
    from dibs.model.views import LockView

BLANK = LockState()


class MemoryServer:
    """All the locks of one store."""

    def __init__(self) -> None:
        self.locks: dict[str, LockState] = {}
        self.last_fence = 0
        self._pushes: list[Push] = []
        self._listens: Callable[[str], bool] = lambda _channel: False

    def execute(self, words: Sequence[Any], now: float, listens: Callable[[str], bool]) -> tuple[Any, Sequence[Push]]:
        """Carry out one command at this moment: the answer, and what is to be told to whom."""
        self._pushes, self._listens = [], listens
        match words:
            case ("ask", name, ask):
                answer: Any = self.turn(name, ask, now)
            case ("keep", asks):
                answer = [self.turn(name, ask, now) for name, ask in asks]
            case ("inspect", name):
                answer = view(name, self.locks.get(name, BLANK), now)
            case ("held", prefix, limit):
                answer = self._held(prefix, limit, now)
            case _:
                answer = now
        return answer, self._pushes

    def turn(self, name: str, ask: Ask, now: float) -> Answer:
        """One ask about one lock."""
        done = turn(self.locks.get(name, BLANK), ask, Moment(now, self.last_fence, self._listens))
        self.last_fence = done.last_fence
        if done.lock.is_blank:
            self.locks.pop(name, None)
        else:
            self.locks[name] = done.lock
        self._pushes.extend(done.pushes)
        return done.answer

    def _held(self, prefix: str, limit: int, now: float) -> list[LockView]:
        views = (view(name, self.locks[name], now) for name in sorted(self.locks) if name.startswith(prefix))
        return [seen for seen in views if seen.held or seen.waiters][:limit]
