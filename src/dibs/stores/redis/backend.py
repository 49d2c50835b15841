"""One Redis or Valkey server as this process sees it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.model.guarantee import Guarantee
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.keys import Keys

if TYPE_CHECKING:
    from dibs.ports.wire import Ear, OwnClient
    from dibs.stores.redis.aio import RedisLine
    from dibs.stores.redis.blocking import RedisWire
    from dibs.stores.redis.endpoint import Endpoint

INSTALL = "install the extra: pip install 'dibs-lock[redis]' (or '.[redis]' in a clone)"


class RedisBackend:
    """One server, and the lines to it."""

    def __init__(self, endpoint: Endpoint, *, min_replicas: int = 0) -> None:
        self._endpoint, self.server, self._replicas = endpoint, endpoint.server, min_replicas

    @property
    def guarantee(self) -> Guarantee:
        """What one server promises."""
        if self._replicas:
            return seconded(self.server, self._replicas)
        return Guarantee(
            level="fenced",
            scope=f"among all who use {self.server}",
            clocks="the server's clock for leases and fences, each holder's own for trust; if the server forgets, "
            "fences rise by its clock",
            durability="as the server is set up: what it forgets in a crash, its holders learn at the next renewal;"
            " of ticks that it forgets they remind it, as long as they live",
        )

    def locks(self, namespace: str) -> RedisLocks:
        return dialect(namespace, self._replicas)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> RedisWire:
        if self._replicas:
            from dibs.stores.redis.seconding.lines import SecondedWire  # noqa: PLC0415 - only who asked for it

            return SecondedWire(self._endpoint, new_channel(), ear, now, replicas=self._replicas)
        from dibs.stores.redis.blocking import RedisWire  # noqa: PLC0415 - one colour is enough for most

        return RedisWire(self._endpoint, new_channel(), ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> RedisLine:
        if self._replicas:
            from dibs.stores.redis.seconding.lines import SecondedLine  # noqa: PLC0415 - only who asked for it

            return SecondedLine(self._endpoint, new_channel(), ear, now, replicas=self._replicas)
        from dibs.stores.redis.aio import RedisLine  # noqa: PLC0415 - one colour is enough for most

        return RedisLine(self._endpoint, new_channel(), ear, now)


def dialect(namespace: str, replicas: int) -> RedisLocks:
    """How it is asked, if so many replicas must have what it answers."""
    if replicas:
        from dibs.stores.redis.seconding.dialect import SecondedLocks  # noqa: PLC0415 - only who asked for it

        return SecondedLocks(Keys(namespace))
    return RedisLocks(Keys(namespace))


def seconded(server: str, replicas: int) -> Guarantee:
    """What a master promises that waits for so many of its replicas."""
    return Guarantee(
        level="fenced",
        scope=f"among all who use {server}",
        clocks="the master's clock for leases, each holder's own for trust; fences rise by what is remembered",
        durability=f"what was granted, renewed or claimed is known to {replicas} of its replicas: nothing of it is "
        "forgotten by a failover to one of these",
    )


def new_channel() -> str:
    """Nobody else's."""
    return f"dibs-{os.urandom(12).hex()}"


def open_store(url: str, *, retry_interval: float | None = None, min_replicas: int = 0) -> RedisBackend:
    """The server that a URL names. While it is away it is tried again at that interval, or at our own pace."""
    return RedisBackend(room_of(url.partition("://")[0]).endpoint(url, retry_interval), min_replicas=min_replicas)


def open_client(client: OwnClient, *, retry_interval: float | None = None, min_replicas: int = 0) -> RedisBackend:
    """The server that somebody's own client talks to."""
    return RedisBackend(room_of("redis").endpoint_of(client, retry_interval), min_replicas=min_replicas)


def room_of(scheme: str, room: str = "dibs.stores.redis.endpoint") -> ModuleType:
    """Where connections are made; explains itself if what it stands on is not installed."""
    try:
        import_module("hiredis")
        return import_module(room)
    except ImportError as error:
        raise ConfigError(f"{scheme}:// needs {error.name}: {INSTALL}") from error
