"""The same questions again, some of which count only when the replicas of their own master have what was done."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.ports.store import Command
from dibs.stores.redis.cluster.dialect import ClusterLocks
from dibs.stores.redis.cluster.slots import tags
from dibs.stores.redis.keys import REMEMBERED
from dibs.stores.redis.resp import encode
from dibs.stores.redis.seconding.dialect import SecondedLocks, Seconding

if TYPE_CHECKING:
    from dibs.stores.redis.cluster.keys import ClusterKeys

T = TypeVar("T")


class SecondedClusterLocks(SecondedLocks, ClusterLocks):
    """The dialect. What is written behind a question is in the same slot: no other is sure to be its master's."""

    def __init__(self, keys: ClusterKeys) -> None:
        super().__init__(keys)
        self._behind = lru_cache(REMEMBERED)(self._behind_all_in)

    def _seconded(self, command: Command[T], is_wanted: Callable[[Any], bool]) -> Command[T]:
        seconding = Seconding(self._behind(command.node), is_wanted)
        return Command((*command.words, seconding), command.read, command.node)

    def _behind_all_in(self, slot: int) -> bytes:
        return encode("SET", f"{self._slots.prefix}~seconded{{{tags()[slot]}}}", "1", "PX", "1000")
