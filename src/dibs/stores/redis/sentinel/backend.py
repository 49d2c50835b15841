"""A service that sentinels watch, as this process sees it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from dibs.model.guarantee import Guarantee
from dibs.stores.redis.backend import dialect, new_channel, seconded
from dibs.stores.redis.sentinel.endpoint import SentinelEndpoint
from dibs.stores.redis.sentinel.service import Service, service_of
from dibs.stores.redis.sentinel.watch import Watch

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.redis.dialect import RedisLocks
    from dibs.stores.redis.sentinel.lines import SentinelLine, SentinelWire


class SentinelBackend:
    """The service, and the lines to its master. All of them follow the same sentinels."""

    def __init__(self, service: Service, *, retry_interval: float | None = None, min_replicas: int = 0) -> None:
        self._service, self.server = service, service.shown
        self._interval, self._replicas = retry_interval, min_replicas
        self._watch, self._joining, self._pid = Watch(service), threading.Lock(), os.getpid()

    @property
    def guarantee(self) -> Guarantee:
        """What a master with replicas promises."""
        if self._replicas:
            return seconded(self.server, self._replicas)
        return Guarantee(
            level="best effort",
            scope=f"among all who use {self.server}",
            clocks="the master's clock for leases and fences, each holder's own for trust; after a failover fences "
            "rise by the new master's clock",
            durability="a failover may forget the last moments before it: its holders learn that at the next renewal, "
            "of ticks that it forgets they remind it, as long as they live; whoever still reaches an old master that "
            "was cut off from its sentinels may hold a lock beside its new holder until the sentinels tell it",
        )

    def locks(self, namespace: str) -> RedisLocks:
        return dialect(namespace, self._replicas)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> SentinelWire:
        if self._replicas:
            from dibs.stores.redis.seconding.lines import SecondedSentinelWire  # noqa: PLC0415 - only who asked for it

            return SecondedSentinelWire(self._endpoint(), new_channel(), ear, now, replicas=self._replicas)
        from dibs.stores.redis.sentinel.lines import SentinelWire  # noqa: PLC0415 - as below

        return SentinelWire(self._endpoint(), new_channel(), ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> SentinelLine:
        if self._replicas:
            from dibs.stores.redis.seconding.lines import SecondedSentinelLine  # noqa: PLC0415 - only who asked for it

            return SecondedSentinelLine(self._endpoint(), new_channel(), ear, now, replicas=self._replicas)
        from dibs.stores.redis.sentinel.lines import SentinelLine  # noqa: PLC0415 - it brings in asyncio

        return SentinelLine(self._endpoint(), new_channel(), ear, now)

    def _endpoint(self) -> SentinelEndpoint:
        if self._pid != os.getpid():  # a thread of the parent's may have had it
            self._pid, self._joining = os.getpid(), threading.Lock()
        with self._joining:
            if self._watch.is_over:
                self._watch = Watch(self._service)
            return SentinelEndpoint(self._watch, self._interval)


def open_store(url: str, *, retry_interval: float | None = None, min_replicas: int = 0) -> SentinelBackend:
    """The service that a URL names. Nothing is opened until it is used."""
    return SentinelBackend(service_of(url), retry_interval=retry_interval, min_replicas=min_replicas)
