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

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self.server = endpoint, endpoint.server

    @property
    def guarantee(self) -> Guarantee:
        """What one server promises."""
        return Guarantee(
            level="fenced",
            scope=f"among all who use {self.server}",
            clocks="the server's clock for leases and fences, each holder's own for trust; if the server forgets, "
            "fences rise by its clock",
            durability="as the server is set up: what it forgets in a crash, its holders learn at the next renewal;"
            " of ticks that it forgets they remind it, as long as they live",
        )

    def locks(self, namespace: str) -> RedisLocks:
        return RedisLocks(Keys(namespace))

    def blocking(self, ear: Ear, now: Callable[[], float]) -> RedisWire:
        from dibs.stores.redis.blocking import RedisWire  # noqa: PLC0415 - one colour is enough for most

        return RedisWire(self._endpoint, new_channel(), ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> RedisLine:
        from dibs.stores.redis.aio import RedisLine  # noqa: PLC0415 - one colour is enough for most

        return RedisLine(self._endpoint, new_channel(), ear, now)


def new_channel() -> str:
    """Nobody else's."""
    return f"dibs-{os.urandom(12).hex()}"


def open_store(url: str, *, retry_interval: float | None = None) -> RedisBackend:
    """The server that a URL names. While it is away it is tried again at that interval, or at our own pace."""
    return RedisBackend(_room(url.partition("://")[0]).endpoint(url, retry_interval))


def open_client(client: OwnClient, *, retry_interval: float | None = None) -> RedisBackend:
    """The server that somebody's own client talks to."""
    return RedisBackend(_room("redis").endpoint_of(client, retry_interval))


def _room(scheme: str) -> ModuleType:
    """Where connections are made; explains itself if what it stands on is not installed."""
    try:
        import_module("hiredis")
        return import_module("dibs.stores.redis.endpoint")
    except ImportError as error:
        raise ConfigError(f"{scheme}:// needs {error.name}: {INSTALL}") from error
