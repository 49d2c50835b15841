"""A cluster as this process sees it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dibs.model.guarantee import Guarantee
from dibs.stores.redis.backend import new_channel, seconded
from dibs.stores.redis.cluster.dialect import ClusterLocks
from dibs.stores.redis.cluster.keys import ClusterKeys
from dibs.stores.redis.cluster.place import Place, place_of
from dibs.stores.redis.cluster.shards import Shards

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.redis.cluster.lines import ClusterLine, ClusterWire

CLOCKS = (
    "the clock of each lock's master for its leases and fences, each holder's own for trust; the clocks of all masters "
    "within a second of each other"
)


class ClusterBackend:
    """The cluster, and the lines to its masters. All of them share one map of its slots."""

    def __init__(self, place: Place, *, min_replicas: int = 0) -> None:
        self._place, self.server, self._replicas = place, place.shown, min_replicas
        self._map, self._joining, self._pid = Shards(place), threading.Lock(), os.getpid()

    @property
    def guarantee(self) -> Guarantee:
        """What masters with replicas promise."""
        if self._replicas:
            promised = seconded(self.server, self._replicas)
            return replace(promised, clocks=f"{CLOCKS}; fences rise by what is remembered")
        return Guarantee(
            level="best effort",
            scope=f"among all who use {self.server}",
            clocks=f"{CLOCKS}; after a failover fences rise by the new master's clock",
            durability="a failover may forget the last moments before it: its holders learn that at the next renewal, "
            "of ticks that it forgets they remind it, as long as they live",
        )

    def locks(self, namespace: str) -> ClusterLocks:
        if self._replicas:
            from dibs.stores.redis.cluster.seconding import SecondedClusterLocks  # noqa: PLC0415 - only who asked for it

            return SecondedClusterLocks(ClusterKeys(namespace))
        return ClusterLocks(ClusterKeys(namespace))

    def blocking(self, ear: Ear, now: Callable[[], float]) -> ClusterWire:
        from dibs.stores.redis.cluster.lines import ClusterWire  # noqa: PLC0415 - as below

        if self._replicas:
            from dibs.stores.redis.seconding.lines import SecondedWire  # noqa: PLC0415 - only who asked for it

            to = partial(SecondedWire, replicas=self._replicas)
            return ClusterWire(self._shards(), new_channel(), ear, now, to=to)
        return ClusterWire(self._shards(), new_channel(), ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> ClusterLine:
        from dibs.stores.redis.cluster.lines import ClusterLine  # noqa: PLC0415 - it brings in asyncio

        if self._replicas:
            from dibs.stores.redis.seconding.lines import SecondedLine  # noqa: PLC0415 - only who asked for it

            to = partial(SecondedLine, replicas=self._replicas)
            return ClusterLine(self._shards(), new_channel(), ear, now, to=to)
        return ClusterLine(self._shards(), new_channel(), ear, now)

    def _shards(self) -> Shards:
        if self._pid != os.getpid():  # a thread of the parent's may have had it
            self._pid, self._joining = os.getpid(), threading.Lock()
        with self._joining:
            if self._map.is_over:
                self._map = Shards(self._place)
            return self._map


def open_store(url: str, *, retry_interval: float | None = None, min_replicas: int = 0) -> ClusterBackend:
    """The cluster that a URL names. Nothing is opened until it is used."""
    return ClusterBackend(place_of(url, retry_interval), min_replicas=min_replicas)
