"""Somebody who asks the store itself about locks of every kind, without a client in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, Literal, TypeVar

from dibs.model.asks import (
    CROWD,
    Acquire,
    AcquireAnswer,
    Busy,
    EvictAnswer,
    Granted,
    Hindrance,
    KeepAlive,
    KeepAnswer,
    Leave,
    LeaveAnswer,
    Memo,
    Push,
    Recalled,
    Renew,
)
from dibs.model.counts import Count
from dibs.model.sheet import Change, Entry, Look, Question, Sheet
from dibs.model.views import LockView
from dibs.ports.store import Command
from dibs.stores.redis import open_store
from dibs.testing.contract.lines import LINES, Ear

T = TypeVar("T")

NAMESPACE = "n"
TTL = 30.0
FOR_EVER = 1e10
PLAIN, REENTRANT, PERMIT, READER = (1, 0), (1, 1), (2, 1), (CROWD, 1)
"""Room and depth: of a mutex, of a reentrant lock or a writer, of one of two permits, and of a reader."""

Kind = tuple[int, int]


class Asker:
    """One line to a server. Owners have the name that they are shown by."""

    def __init__(self, url: str, colour: Literal["blocking", "asyncio"]) -> None:
        backend = open_store(url)
        self._ear = Ear()
        self._line = LINES[colour](backend, self._ear)
        self.locks, self.channel, self.close = backend.locks(NAMESPACE), self._line.channel, self._line.close

    def ask(self, command: Command[T]) -> T:
        return command.read(self._line.value(command))

    def wish(self, owner: str, kind: Kind = READER, *, ttl: float = TTL) -> Acquire:
        return Acquire(owner, ttl, FOR_EVER, self.channel, owner, room=kind[0], depth=kind[1])

    def acquire(
        self,
        owner: str,
        kind: Kind = READER,
        *,
        ttl: float = TTL,
        channel: str = "",
        queue: bool = True,
        name: str = "a",
    ) -> AcquireAnswer:
        wish = replace(self.wish(owner, kind, ttl=ttl), channel=channel or self.channel, queue=queue)
        return self.ask(self.locks.acquire(name, wish))

    def enter(self, owner: str, kind: Kind = READER, *, ttl: float = TTL, name: str = "a") -> int:
        """Acquire it, which must succeed: the fence."""
        answer = self.acquire(owner, kind, ttl=ttl, name=name)
        assert isinstance(answer, Granted), answer
        return answer.fence

    def together(self, *asks: tuple[str, Acquire]) -> Sequence[int]:
        """Acquire all of them, which must succeed: their fences."""
        answer = self.ask(self.locks.acquire_all(asks))
        assert not isinstance(answer, Hindrance), answer
        return [grant.fence for grant in answer]

    def hindered(self, *asks: tuple[str, Acquire]) -> tuple[int, str, int]:
        """Acquire all of them, which must fail: by the lock at which place, held by whom, and how many wait for it."""
        hindrance = self.ask(self.locks.acquire_all(asks))
        assert isinstance(hindrance, Hindrance), hindrance
        assert isinstance(hindrance.answer, Busy), hindrance
        return hindrance.place, hindrance.answer.held.who, hindrance.answer.waiters

    def renew(self, owner: str, fence: int, *, depth: int = 1, ttl: float = TTL) -> KeepAnswer:
        return self._kept(Renew(owner, fence, ttl, depth))

    def keep_alive(self, owner: str, *, ttl: float = TTL) -> KeepAnswer:
        return self._kept(KeepAlive(owner, ttl))

    def leave(self, owner: str, *, memo: Memo | None = None, name: str = "a") -> LeaveAnswer:
        return self.ask(self.locks.leave(name, Leave(owner, memo=memo)))

    def evict(self, fence: int) -> EvictAnswer:
        return self.ask(self.locks.evict("a", fence))

    def seen(self, name: str = "a") -> LockView:
        return self.ask(self.locks.inspect(name))

    def who(self) -> list[str]:
        """Who holds it, first come first."""
        return [held.who for held in self.seen().holders]

    def listed(self) -> list[str]:
        return [view.name for view in self.ask(self.locks.held("", 100))]

    def recall(self) -> Recalled:
        return self.ask(self.locks.recall("a"))

    def now(self) -> float:
        return self.ask(self.locks.time())

    def count(self, *counts: Count) -> Sequence[Count]:
        """Count these; gives all that there is."""
        self.ask(self.locks.count(counts))
        return self.ask(self.locks.counted())

    def due(self) -> Look:
        return self.ask(self.locks.due(0, 100))

    def sheet(self, name: str = "a") -> Sheet | None:
        return next(iter(self.ask(self.locks.sheets([name])).sheets), None)

    def keep_sheet(self, name: str = "a", text: str = "text", **more: Any) -> int:
        """The sheet is there from now on, in place of what was there: its revision."""
        found = self.sheet(name)
        change = {"acts_at": None, "earliest": -inf, "not_after": inf, **more}
        [revision] = self.ask(self.locks.amend([Change(name, found.revision if found else 0, text, **change)]))
        assert revision
        return revision

    def named(self, prefix: str = "", after: str = "", limit: int = 100) -> list[str]:
        return [sheet.name for sheet in self.ask(self.locks.named(prefix, after, limit)).sheets]

    def note(self, name: str, *entries: Entry, keep: int = 1_000, keep_for: float = 1_000.0) -> None:
        self.ask(self.locks.note(name, entries, keep, keep_for))

    def history(self, tag: str = "a") -> list[str]:
        return [line.text for line in self.ask(self.locks.lines(Question(tag)))]

    def told(self, pushes: int) -> list[Push]:
        """What the store has told so far, once it is that much."""
        self._line.hear(pushes)
        return self._ear.pushes

    def _kept(self, ask: KeepAlive | Renew) -> KeepAnswer:
        [answer] = self.ask(self.locks.keep([("a", ask)]))
        return answer
