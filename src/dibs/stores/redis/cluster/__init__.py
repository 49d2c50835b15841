"""A cluster: each lock is on the master of its own slot, with its queue, its counter and its pushes; jobs are in one.

`redis+cluster://[user:password@]host1:port,host2:port`, or `rediss+cluster://` if all of them speak TLS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.redis.backend import room_of

if TYPE_CHECKING:
    from dibs.ports.wire import Backend


def open_store(url: str, *, retry_interval: float | None = None, min_replicas: int = 0) -> Backend:
    """The cluster that a URL names."""
    scheme = url.partition("://")[0]
    room = room_of(scheme, "dibs.stores.redis.cluster.backend")
    backend: Backend = room.open_store(url, retry_interval=retry_interval, min_replicas=min_replicas)
    return backend


__all__ = ["open_store"]
