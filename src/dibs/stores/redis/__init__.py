"""Redis and Valkey: the store that the machines of a fleet share.

`redis://`, `rediss://` (TLS), `valkey://`, `valkeys://`, `unix://`: as redis-py reads them, for one server.
"""

from __future__ import annotations

from dibs.stores.redis.backend import RedisBackend, open_client, open_store

__all__ = ["RedisBackend", "open_client", "open_store"]
