"""Every lock for threads, opened as its readers are told to, with a connection for each thread where it wants one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, TypeAlias

from bench.redis.aio import SPARE, TTL
from bench.redis.floors import NotAsExpected, raw_threads
from bench.redis.line import HOST, url
from bench.redis.peers import POTTERY, PYTHON_REDIS_LOCK, RAW_THREAD, REDIS_PY, REDLOCK_PY, SHERLOCK, THREAD
from dibs import connect

PATIENCE = 600
"""Seconds, or tries, for those that would give up by themselves before a crowd has had its turns."""

Locks: TypeAlias = Callable[[str], AbstractContextManager[object]]
"""A lock for a key, as one of the libraries has it."""

Opener: TypeAlias = Callable[[int, int], AbstractContextManager[Locks]]
"""Given the server's port, and how many threads will use it."""


@contextmanager
def _ours(port: int, crowd: int) -> Iterator[Locks]:
    with connect(url(port), quiet=True) as client:
        yield lambda key: client.lock(key, ttl=TTL)


@contextmanager
def _redis_py(port: int, crowd: int) -> Iterator[Locks]:
    client = _redis(port, crowd)
    yield lambda key: client.lock(key, timeout=TTL)


@contextmanager
def _python_redis_lock(port: int, crowd: int) -> Iterator[Locks]:
    """Without redis-py's timeout, which is shorter than the lock's own waits."""
    lock, client = import_module("redis_lock").Lock, _redis(port, crowd, socket_timeout=None)
    yield lambda key: lock(client, key, expire=TTL)


@contextmanager
def _pottery(port: int, crowd: int) -> Iterator[Locks]:
    lock, client = import_module("pottery").Redlock, _redis(port, crowd)
    yield lambda key: lock(key=key, masters={client}, auto_release_time=TTL)


@contextmanager
def _sherlock(port: int, crowd: int) -> Iterator[Locks]:
    lock, client = import_module("sherlock").RedisLock, _redis(port, crowd)
    yield lambda key: lock(key, client=client, expire=TTL, timeout=PATIENCE)


@contextmanager
def _redlock_py(port: int, crowd: int) -> Iterator[Locks]:
    servers = [{"host": HOST, "port": port, "max_connections": crowd + SPARE}]
    manager = import_module("redlock").Redlock(servers, retry_count=PATIENCE)
    yield lambda key: RedlockPy(manager, key)


@contextmanager
def _raw(port: int, crowd: int) -> Iterator[Locks]:
    with raw_threads(port) as locks:
        yield locks


class RedlockPy:
    """Its two calls, as one thing to enter and to leave."""

    __slots__ = ("_key", "_lock", "_manager")

    def __init__(self, manager: Any, key: str) -> None:
        self._manager, self._key, self._lock = manager, key, None

    def __enter__(self) -> None:
        self._lock = self._manager.lock(self._key, TTL * 1000)
        if not self._lock:
            raise NotAsExpected(self._lock)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manager.unlock(self._lock)


def _redis(port: int, crowd: int, **options: Any) -> Any:
    return import_module("redis").Redis(host=HOST, port=port, max_connections=crowd + SPARE, **options)


OPENERS: Mapping[str, Opener] = {
    RAW_THREAD: _raw,
    REDIS_PY: _redis_py,
    REDLOCK_PY: _redlock_py,
    PYTHON_REDIS_LOCK: _python_redis_lock,
    POTTERY: _pottery,
    SHERLOCK: _sherlock,
    THREAD: _ours,
}
