"""The same questions, each with the slot that it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.model.value import value
from dibs.ports.store import Command
from dibs.stores.redis.answers import view
from dibs.stores.redis.cluster.keys import ClusterKeys
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.resp import bulks
from dibs.stores.redis.scripts import HELD, Script

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
    from dibs.model.sheet import Change, Entry, Line, Look, Question
    from dibs.model.views import LockView

T = TypeVar("T")

EVERY_ONE = -1
"""Instead of a slot, for what is asked of all."""


@value
class Noting:
    """What to tell the master of jobs when locks are first kept in a slot."""

    home: int
    used: bytes
    """How that one is asked in which slots there are any."""
    use: Callable[[int], bytes]


@value
class Listing:
    """What is asked of every slot in which there are locks."""

    home: int
    used: bytes
    of: Callable[[int], bytes]


class ClusterLocks(RedisLocks):
    """The dialect: whom to ask is the slot, and what is noted or listed beside stands behind the words."""

    tells_by_answer = True  # a push would go to every server of the cluster

    def __init__(self, keys: ClusterKeys, *, node: int = 0) -> None:
        super().__init__(keys, node=node)
        self._slots = keys
        self._noting = Noting(keys.home, keys.used(), keys.use)

    def part_of(self, name: str) -> int:
        """What is kept in one call must be in one slot."""
        return self._slots.slot(name)

    def time(self) -> Command[float]:
        return self._home(super().time())

    def checkup(self) -> Command[Sequence[str]]:
        return self._home(super().checkup())

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        command = super().acquire(name, ask)
        return Command((command.words[0], self._noting), command.read, self._slots.slot(name))

    def acquire_all(self, asks: Sequence[tuple[str, Acquire]]) -> Command[AllAnswer]:
        """In one step if they are in one slot; else the server refuses it, and they are taken one after the other."""
        return self._of(asks[0][0], super().acquire_all(asks))

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        return self._of(asks[0][0], super().keep(asks))

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        return self._of(name, super().leave(name, ask))

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        return self._of(name, super().evict(name, fence))

    def inspect(self, name: str) -> Command[LockView]:
        return self._of(name, super().inspect(name))

    def held(self, prefix: str, limit: int) -> Command[Sequence[LockView]]:
        keys, skip = self._slots, len(self._slots.prefix.encode())
        wanted = bulks(((keys.prefix + prefix).encode(), b"%d" % limit))

        def read(answers: Sequence[Sequence[Any]]) -> Sequence[LockView]:
            found = sorted((key, answer[0], seen) for answer in answers for key, seen in answer[1:])
            return [view(key[skip:].decode(errors="replace"), now, seen) for key, now, seen in found[:limit]]

        listing = Listing(keys.home, keys.used(), lambda slot: HELD.head(keys=1, args=2) + keys.index_at(slot) + wanted)
        return Command((listing,), read, EVERY_ONE)

    def recall(self, name: str) -> Command[Recalled]:
        return self._of(name, super().recall(name))

    def count(self, counts: Sequence[Count]) -> Command[object]:
        return self._at(self._slots.counts_at, super().count(counts))

    def counted(self) -> Command[Sequence[Count]]:
        return self._at(self._slots.counts_at, super().counted())

    def due(self, skip: int, limit: int, by: float | None = None) -> Command[Look]:
        return self._home(super().due(skip, limit, by))

    def sheets(self, names: Sequence[str]) -> Command[Look]:
        return self._home(super().sheets(names))

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        return self._home(super().amend(changes))

    def named(self, prefix: str, after: str, limit: int) -> Command[Look]:
        return self._home(super().named(prefix, after, limit))

    def note(self, name: str, entries: Sequence[Entry], keep: int, keep_for: float) -> Command[object]:
        return self._home(super().note(name, entries, keep, keep_for))

    def lines(self, question: Question) -> Command[Sequence[Line]]:
        return self._home(super().lines(question))

    def _many(self, script: Script, names: Sequence[str], args: Sequence[Sequence[bytes]]) -> bytes:
        keys = Keys.SHARED + Keys.EACH * len(names)
        shared = self._slots.shared_at(self._slots.slot(names[0]))
        parts = [script.head(keys=keys, args=sum(map(len, args))), shared]
        parts.extend(map(self._slots.each_of, names))
        parts.extend(map(bulks, args))
        return b"".join(parts)

    def _of(self, name: str, command: Command[T]) -> Command[T]:
        return Command((command.words[0], None), command.read, self._slots.slot(name))

    def _home(self, command: Command[T]) -> Command[T]:
        return self._at(self._slots.home, command)

    def _at(self, slot: int, command: Command[T]) -> Command[T]:
        return Command((command.words[0], None), command.read, slot)
