"""What is asked in the same words, and counts only when replicas have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.model.value import value
from dibs.ports.store import Command
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.resp import encode

if TYPE_CHECKING:
    from dibs.model.asks import Acquire, AcquireAnswer, AllAnswer, EvictAnswer, KeepAlive, KeepAnswer, Renew
    from dibs.model.sheet import Change
    from dibs.stores.redis.keys import Keys

T = TypeVar("T")

_GRANTED, _KEPT, _EVICTED = 1, 6, 9


@value
class Seconding:
    """What goes with such a command: a write that comes after it, and which answers are worth to be waited for."""

    write: bytes
    is_wanted: Callable[[Any], bool]


class SecondedLocks(RedisLocks):
    """The dialect. What is given up, or only looked at, is as it was: at worst a lock is free a TTL later."""

    def __init__(self, keys: Keys, *, node: int = 0) -> None:
        super().__init__(keys, node=node)
        self._write = encode("SET", f"{keys.prefix}~seconded", "1", "PX", "1000")

    def acquire(self, name: str, ask: Acquire) -> Command[AcquireAnswer]:
        return self._seconded(super().acquire(name, ask), lambda answer: answer[1] == _GRANTED)

    def acquire_all(self, asks: Sequence[tuple[str, Acquire]]) -> Command[AllAnswer]:
        return self._seconded(super().acquire_all(asks), lambda answer: not isinstance(answer[1], int))

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        return self._seconded(super().keep(asks), _keeps_some)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        return self._seconded(super().evict(name, fence), lambda answer: answer[1] == _EVICTED)

    def amend(self, changes: Sequence[Change]) -> Command[Sequence[int]]:
        return self._seconded(super().amend(changes), lambda answer: any(answer[1:]))

    def _seconded(self, command: Command[T], is_wanted: Callable[[Any], bool]) -> Command[T]:
        return Command((*command.words, Seconding(self._write, is_wanted)), command.read, command.node)


def _keeps_some(answer: Sequence[Any]) -> bool:
    return any(each[0] in (_GRANTED, _KEPT) for each in answer[1:])
