"""A master and its replicas, as the sentinels that watch them say: the store moves with the master.

`redis+sentinel://[user:password@]host1:port,host2:port/service[/db]`, or `rediss+sentinel://` if all of them speak TLS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.redis.backend import room_of

if TYPE_CHECKING:
    from dibs.ports.wire import Backend


def open_store(url: str, *, retry_interval: float | None = None, min_replicas: int = 0) -> Backend:
    """The service that a URL names."""
    room = room_of(url.partition("://")[0], "dibs.stores.redis.sentinel.backend")
    backend: Backend = room.open_store(url, retry_interval=retry_interval, min_replicas=min_replicas)
    return backend


__all__ = ["open_store"]
