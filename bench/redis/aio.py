"""Every lock for tasks, opened as its readers are told to, with a connection for each task where it wants one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, TypeAlias

from bench.redis.floors import raw_tasks
from bench.redis.line import HOST, url
from bench.redis.peers import COREDIS, POTTERY_ASYNCIO, RAW_TASK, REDIS_PY_ASYNCIO, TASK
from dibs import connect

TTL = 30
SPARE = 8
"""Connections beyond one for each task, so that nobody waits for one."""

Locks: TypeAlias = Callable[[str], AbstractAsyncContextManager[object]]
"""A lock for a key, as one of the libraries has it."""

Opener: TypeAlias = Callable[[int, int], AbstractAsyncContextManager[Locks]]
"""Given the server's port, and how many tasks will use it."""


@asynccontextmanager
async def _ours(port: int, crowd: int) -> AsyncIterator[Locks]:
    async with connect(url(port), quiet=True) as client:
        yield lambda key: client.lock(key, ttl=TTL)


@asynccontextmanager
async def _redis_py(port: int, crowd: int) -> AsyncIterator[Locks]:
    async with _redis(port, crowd) as client:
        yield lambda key: client.lock(key, timeout=TTL)


@asynccontextmanager
async def _pottery(port: int, crowd: int) -> AsyncIterator[Locks]:
    lock = import_module("pottery").AIORedlock
    async with _redis(port, crowd) as client:
        yield lambda key: lock(key=key, masters={client}, auto_release_time=TTL)


@asynccontextmanager
async def _coredis(port: int, crowd: int) -> AsyncIterator[Locks]:
    lock = import_module("coredis.patterns.lock").Lock
    client = import_module("coredis").Redis(host=HOST, port=port, max_connections=crowd + SPARE)
    async with client:
        yield lambda key: lock(client, key, timeout=TTL)


@asynccontextmanager
async def _raw(port: int, crowd: int) -> AsyncIterator[Locks]:
    async with raw_tasks(port) as locks:
        yield locks


def _redis(port: int, crowd: int) -> Any:
    return import_module("redis.asyncio").Redis(host=HOST, port=port, max_connections=crowd + SPARE)


OPENERS: Mapping[str, Opener] = {
    RAW_TASK: _raw,
    REDIS_PY_ASYNCIO: _redis_py,
    POTTERY_ASYNCIO: _pottery,
    COREDIS: _coredis,
    TASK: _ours,
}
