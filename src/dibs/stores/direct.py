"""How questions are put to a store that lives in the asking process: as the model's own values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.model.asks import Evict
from dibs.ports.store import Command

if TYPE_CHECKING:
    from dibs.model.asks import (
        Acquire,
        AcquireAnswer,
        EvictAnswer,
        KeepAlive,
        KeepAnswer,
        Leave,
        LeaveAnswer,
        Renew,
    )
    from dibs.model.views import LockView

T = TypeVar("T")


class DirectLocks:
    """The dialect of the stores that need no translation; several namespaces share one of them."""

    def __init__(self, namespace: str, *, node: int = 0) -> None:
        self._prefix, self._node = f"{namespace}:" if namespace else "", node

    def time(self) -> Command[float]:
        return self._command("time")

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        return self._command("ask", self._key(name), ask)

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        return self._command("keep", [(self._key(name), ask) for name, ask in asks])

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        return self._command("ask", self._key(name), ask)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        return self._command("ask", self._key(name), Evict(fence))

    def inspect(self, name: str) -> Command[LockView]:
        return Command(("inspect", self._key(name)), self._bare, self._node)

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        words = ("held", self._key(prefix), limit)
        return Command(words, lambda views: [self._bare(view) for view in views], self._node)

    def _command(self, *words: object) -> Command[Any]:
        return Command(words, _as_it_is, self._node)

    def _key(self, name: str) -> str:
        return self._prefix + name

    def _bare(self, view: LockView) -> LockView:
        return replace(view, name=view.name[len(self._prefix) :])


def _as_it_is(reply: T) -> T:
    return reply
