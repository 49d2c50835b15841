"""Where the value is kept, when it was last warmed up, and who has written it with which fence."""

from __future__ import annotations

from typing import Protocol

import dibs
from dibs.fenced import Fenced

ADS, WARMUP, LOG = "ADS_REDLOCK", "WARMUP_LAST_SUCCESSFUL", "ADS_LOG"
LOG_LENGTH = 20_000
"""So many of the last writes are remembered."""

_SERVERS = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss", "unix": "unix"}
"""What redis-py calls them."""
QUORUM = {"redlock": "redis", "redlocks": "rediss"}
"""Of several servers that have the locks, the first has the keys: it refuses who comes late, by its fence."""


class KeysUnreachable(Exception):
    """Nobody knows what the keys hold: what keeps them is silent, or cannot do it."""


class Keys(Protocol):
    """Two keys and a log."""

    name: str
    """What keeps them."""
    health: str
    """What `/health` says of that when all is well."""

    async def ping(self) -> None:
        """See that they can be reached."""
        ...

    async def get(self, key: str) -> str | None:
        """What is there, if anything."""
        ...

    async def write(self, lease: Fenced, value: str, name: str, *, warmed_up: str = "") -> None:
        """Write the value and log by whom, in one step, at most once a lease; and when it was warmed up, if it was.

        `StaleFence` if somebody with a later lease has written: then nothing is.
        """
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


def opened(url: str) -> Keys:
    """The keys that belong to a store of locks: on the same server, or in a file beside it. Nothing is opened yet."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() in QUORUM:
        scheme, rest = QUORUM[scheme.lower()], rest.partition(",")[0]
    if server := _SERVERS.get(scheme.lower()):
        from examples.ads_cluster.on_redis import RedisKeys  # noqa: PLC0415 - who has no Redis needs no client

        return RedisKeys(f"{server}://{rest}")
    from examples.ads_cluster.on_sqlite import SqliteKeys, beside  # noqa: PLC0415 - the other way round

    if scheme.lower() not in {"sqlite", "valkey+embedded"}:
        raise dibs.ConfigError(
            f"{scheme}:// is not shared by processes, and each worker is one: name a redis:// or a sqlite:// store"
        )
    return SqliteKeys(beside(url))
