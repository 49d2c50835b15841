"""The keys on a Redis or Valkey, as keys that `redis-cli` can look at."""

from __future__ import annotations

import json
from asyncio import timeout
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

import dibs
from dibs.fenced import Fenced
from examples.ads_cluster.keys import ADS, LOG, LOG_LENGTH, WARMUP, KeysUnreachable

FENCE = f"{{{ADS}}}~fence"
"""Where `fenced.redis(client, lease).set("ADS_REDLOCK", …)` of another program looks, too."""
PATIENCE = 2.0


class RedisKeys:
    """Real keys of those names."""

    name, health = "Redis", "connected"

    def __init__(self, url: str) -> None:
        # What is sent a second time is written once, see update.lua.
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=16,
            timeout=PATIENCE,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
            retry=Retry(NoBackoff(), 1),
            decode_responses=True,
        )
        self._client = Redis.from_pool(pool)
        self._update = self._client.register_script(files(__package__).joinpath("update.lua").read_text())

    async def ping(self) -> None:
        with _heard():
            async with timeout(PATIENCE):
                await self._client.ping()

    async def get(self, key: str) -> str | None:
        with _heard():
            value = await self._client.get(key)
        return None if value is None else str(value)

    async def write(self, lease: Fenced, value: str, name: str, *, warmed_up: str = "") -> None:
        line = json.dumps({"fence": lease.fence, "name": name}, ensure_ascii=False)
        words = [str(lease.fence), value, line, str(LOG_LENGTH), warmed_up]
        with _heard():
            is_written, newest = await self._update(keys=[ADS, FENCE, LOG, WARMUP], args=words)
        if not is_written:
            raise dibs.StaleFence(ADS, fence=lease.fence, newest=int(newest))

    async def close(self) -> None:
        await self._client.aclose()


@contextmanager
def _heard() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:  # a TimeoutError is one of the latter
        raise KeysUnreachable(str(error) or type(error).__name__) from error
