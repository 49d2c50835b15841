"""The memory store itself: a dict of locks that executes the transition table. Knows no clock and no thread."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Granted, Hindrance, Recalled
from dibs.model.counts import MOST_NAMES, OTHERS, Count
from dibs.model.fence import next_fence
from dibs.model.lock import LockState
from dibs.model.succession import Moment
from dibs.model.table import Turn, turn, turn_all
from dibs.model.views import view
from dibs.stores.memory.sheets import Sheets

if TYPE_CHECKING:
    from dibs.model.asks import Acquire, AllAnswer, Answer, Ask, Memo, Push
    from dibs.model.sheet import Change
    from dibs.model.views import LockView

BLANK = LockState()


class MemoryServer:
    """All the locks of one store."""

    hands_over = True
    """Whether it decides alone: it may be one of several, of which a majority does."""

    def __init__(self) -> None:
        self.locks: dict[str, LockState] = {}
        self.last_fence = 0
        self.memos: dict[str, tuple[Memo, float]] = {}
        self.counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self.sheets: dict[str, Sheets] = defaultdict(Sheets)
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
            case ("all", asks):
                answer = self.turn_all(asks, now)
            case ("inspect", name):
                answer = view(name, self.locks.get(name, BLANK), now)
            case ("held", prefix, limit):
                answer = self._held(prefix, limit, now)
            case ("recall", name):
                answer = self._recalled(name, now)
            case ("count", space, counts):
                answer = None
                self._count(self.counts[space], counts)
            case ("counted", space):
                answer = [Count(name, what, by) for (name, what), by in sorted(self.counts[space].items())]
            case ("due" | "sheets" | "amend" | "named" | "note" | "lines" as what, space, *more):
                answer = self._of_jobs(self.sheets[space], what, *more, now=now)
            case _:
                answer = now
        return answer, self._pushes

    def turn(self, name: str, ask: Ask, now: float) -> Answer:
        """One ask about one lock."""
        moment = Moment(now, self.last_fence, self._listens, self.hands_over)
        done = turn(self.locks.get(name, BLANK), ask, moment)
        self._note(name, done, now)
        return done.answer

    def turn_all(self, asks: Sequence[tuple[str, Acquire]], now: float) -> AllAnswer:
        """Several locks in one step, or none."""
        locks = [self.locks.get(name, BLANK) for name, _ in asks]
        turns = turn_all(locks, [ask for _, ask in asks], Moment(now, self.last_fence, self._listens))
        if isinstance(turns, Hindrance):
            return turns
        for (name, _), done in zip(asks, turns, strict=True):
            self._note(name, done, now)
        return [done.answer for done in turns if isinstance(done.answer, Granted)]

    def _note(self, name: str, done: Turn, now: float) -> None:
        self.last_fence = done.last_fence
        if done.lock.is_blank:
            self.locks.pop(name, None)
        else:
            self.locks[name] = done.lock
        if done.memo is not None:
            self.memos = {of: kept for of, kept in self.memos.items() if kept[0].until > now}
            self.memos[name] = done.memo, now
        self._pushes.extend(done.pushes)

    def _recalled(self, name: str, now: float) -> Recalled:
        memo, made_at = self.memos.get(name, (None, 0.0))
        return Recalled(now) if memo is None or memo.until <= now else Recalled(now, memo.text, made_at)

    def _count(self, known: Counter[tuple[str, str]], counts: Sequence[Count]) -> None:
        names = {name for name, _ in known}
        for count in counts:
            if count.name not in names and len(names) >= MOST_NAMES:
                known[OTHERS, count.what] += count.by
            else:
                names.add(count.name)
                known[count.name, count.what] += count.by

    def _of_jobs(self, sheets: Sheets, what: str, *more: Any, now: float) -> Any:
        match what:
            case "due":
                return sheets.due(now, *more)
            case "sheets":
                return sheets.read(now, *more)
            case "amend":
                return [self._amended(sheets, change, now) for change in more[0]]
            case "named":
                return sheets.named(now, *more)
            case "note":
                return self._noted(sheets, more[0], now)
            case _:
                return sheets.lines(*more)

    def _amended(self, sheets: Sheets, change: Change, now: float) -> int:
        revision = next_fence(last=self.last_fence, now=now, seen=max(change.seen, change.revision))
        if not sheets.amend(change, revision, now):
            return 0
        self.last_fence = revision
        return revision

    def _noted(self, sheets: Sheets, change: Change, now: float) -> None:
        self.last_fence = next_fence(last=self.last_fence, now=now, seen=0)
        sheets.note(change, self.last_fence, now)

    def _held(self, prefix: str, limit: int, now: float) -> list[LockView]:
        views = (view(name, self.locks[name], now) for name in sorted(self.locks) if name.startswith(prefix))
        return [seen for seen in views if seen.held or seen.waiters][:limit]
