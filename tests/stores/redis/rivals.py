"""Other programs that lock the same key, each as its own library does it."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

import redis
import redis.asyncio
from redis.exceptions import LockNotOwnedError

from tests.chaos.moments import LONG, PAUSE, so
from tests.servers.ports import HOST

T = TypeVar("T")

COMPARE_AND_DELETE = """
if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1])
else
    return 0
end
"""
"""As the documentation of SET has it."""

REDISSON_LOCK = """
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
return redis.call('pttl', KEYS[1])
"""
REDISSON_UNLOCK = """
if (redis.call('hexists', KEYS[1], ARGV[1]) == 0) then
    return nil
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
    return 0
end
redis.call('del', KEYS[1])
return 1
"""
"""As its `RedissonLock` has them, but for the message to those who wait."""


class Rival(Protocol):
    """A program that knows nothing of dibs, and has one lock."""

    def acquire(self, ttl: float) -> bool:
        """Take it if it is free."""
        ...

    def wait(self, ttl: float) -> bool:
        """Take it when it is free, in the library's own way to wait."""
        ...

    def release(self) -> bool:
        """Give it back; false if the library says that it is not its own any more."""
        ...

    def close(self) -> None: ...


class RedisPy:
    """`redis.Redis.lock`."""

    def __init__(self, port: int, key: str) -> None:
        self.client, self._key = redis.Redis(host=HOST, port=port), key
        self.lock = self._new(1.0)

    def acquire(self, ttl: float) -> bool:
        self.lock = self._new(ttl)
        return bool(self.lock.acquire(blocking=False))

    def wait(self, ttl: float) -> bool:
        self.lock = self._new(ttl)
        return bool(self.lock.acquire(blocking_timeout=LONG))

    def release(self) -> bool:
        try:
            self.lock.release()
        except LockNotOwnedError:
            return False
        return True

    def close(self) -> None:
        self.client.close()

    def _new(self, ttl: float) -> Any:
        return self.client.lock(self._key, timeout=ttl, sleep=PAUSE, thread_local=False)


class RedisPyAsyncio:
    """`redis.asyncio.Redis.lock`, in an event loop of its own."""

    def __init__(self, port: int, key: str) -> None:
        self._client, self._key = redis.asyncio.Redis(host=HOST, port=port), key
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._lock = self._new(1.0)

    def acquire(self, ttl: float) -> bool:
        self._lock = self._new(ttl)
        return bool(self._run(self._lock.acquire(blocking=False)))

    def wait(self, ttl: float) -> bool:
        self._lock = self._new(ttl)
        return bool(self._run(self._lock.acquire(blocking_timeout=LONG)))

    def release(self) -> bool:
        try:
            self._run(self._lock.release())
        except LockNotOwnedError:
            return False
        return True

    def close(self) -> None:
        self._run(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LONG)
        self._loop.close()

    def _new(self, ttl: float) -> Any:
        return self._client.lock(self._key, timeout=ttl, sleep=PAUSE, thread_local=False)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * LONG)


class Bare:
    """`SET key value NX PX ttl`, and the script that everybody copies."""

    def __init__(self, port: int, key: str) -> None:
        self._client, self._key, self._token = redis.Redis(host=HOST, port=port), key, ""

    def acquire(self, ttl: float) -> bool:
        self._token = secrets.token_hex()
        return bool(self._client.set(self._key, self._token, nx=True, px=round(ttl * 1000)))

    def wait(self, ttl: float) -> bool:
        return so(lambda: self.acquire(ttl)).wait(LONG)

    def release(self) -> bool:
        return bool(self._client.eval(COMPARE_AND_DELETE, 1, self._key, self._token))

    def close(self) -> None:
        self._client.close()


class Redisson:
    """`RLock` of Java's Redisson: a hash of one field, its owner."""

    def __init__(self, port: int, key: str) -> None:
        self._client, self._key = redis.Redis(host=HOST, port=port), key
        self.owner = f"{secrets.token_hex(8)}:52"

    def acquire(self, ttl: float) -> bool:
        return bool(self._client.eval(REDISSON_LOCK, 1, self._key, str(round(ttl * 1000)), self.owner) is None)

    def wait(self, ttl: float) -> bool:
        return so(lambda: self.acquire(ttl)).wait(LONG)

    def release(self) -> bool:
        return bool(self._client.eval(REDISSON_UNLOCK, 1, self._key, self.owner) == 1)

    def close(self) -> None:
        self._client.close()
