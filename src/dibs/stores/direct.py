"""How questions are put to a store that lives in the asking process: as the model's own values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.model.asks import Evict
from dibs.model.sheet import Change
from dibs.ports.store import Command

if TYPE_CHECKING:
    from dibs.model.asks import (
        Acquire,
        AcquireAnswer,
        AllAnswer,
        EvictAnswer,
        KeepAlive,
        KeepAnswer,
        Leave,
        LeaveAnswer,
        Recalled,
        Renew,
    )
    from dibs.model.counts import Count
    from dibs.model.sheet import Entry, Line, Look, Question
    from dibs.model.views import LockView


AskT = TypeVar("AskT")


class DirectLocks:
    """The dialect of the stores that need no translation; several namespaces share one of them."""

    def __init__(self, namespace: str, *, node: int = 0) -> None:
        self._prefix, self._node = f"{namespace}:" if namespace else "", node

    def time(self) -> Command[float]:
        return Command(("time",), _as_it_is, self._node)

    def checkup(self) -> Command[Sequence[str]]:
        return Command(("time",), lambda _: (), self._node)

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        return Command(("ask", self._prefix + name, ask), _as_it_is, self._node)

    def acquire_all(self, asks: Sequence[tuple[str, Acquire]]) -> Command[AllAnswer]:
        return Command(("all", self._named(asks)), _as_it_is, self._node)

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        return Command(("keep", self._named(asks)), _as_it_is, self._node)

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        return Command(("ask", self._prefix + name, ask), _as_it_is, self._node)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        return Command(("ask", self._prefix + name, Evict(fence)), _as_it_is, self._node)

    def inspect(self, name: str) -> Command[LockView]:
        return Command(("inspect", self._prefix + name), self._bare, self._node)

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        words = ("held", self._prefix + prefix, limit)
        return Command(words, lambda views: [self._bare(view) for view in views], self._node)

    def recall(self, name: str) -> Command[Recalled]:
        return Command(("recall", self._prefix + name), _as_it_is, self._node)

    def count(self, counts: Sequence[Count]) -> Command[object]:
        return Command(("count", self._prefix, counts), _as_it_is, self._node)

    def counted(self) -> Command[Sequence[Count]]:
        return Command(("counted", self._prefix), _as_it_is, self._node)

    def due(self, skip: int, limit: int, by: float | None = None) -> Command[Look]:
        return Command(("due", self._prefix, skip, limit, by), _as_it_is, self._node)

    def sheets(self, names: Sequence[str]) -> Command[Look]:
        return Command(("sheets", self._prefix, names), _as_it_is, self._node)

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        return Command(("amend", self._prefix, changes), _as_it_is, self._node)

    def named(self, prefix: str, after: str, limit: int) -> Command[Look]:
        return Command(("named", self._prefix, prefix, after, limit), _as_it_is, self._node)

    def note(self, name: str, entries: Sequence[Entry], keep: int, keep_for: float) -> Command[object]:
        change = Change(name, 0, None, None, -inf, inf, entries=entries, keep=keep, keep_for=keep_for)
        return Command(("note", self._prefix, change), _as_it_is, self._node)

    def lines(self, question: Question) -> Command[Sequence[Line]]:
        return Command(("lines", self._prefix, question), _as_it_is, self._node)

    def _named(self, asks: Sequence[tuple[str, AskT]]) -> Sequence[tuple[str, AskT]]:
        return [(self._prefix + name, ask) for name, ask in asks]

    def _bare(self, view: LockView) -> LockView:
        return replace(view, name=view.name[len(self._prefix) :])


def _as_it_is(reply: Any) -> Any:
    return reply
