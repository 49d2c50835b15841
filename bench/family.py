"""The relatives of the lock with nobody in the way, beside the mutex: reading, a permit, a function under a lock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cycles import BATCH
from bench.rounds import Effort, Row, interleaved
from bench.targets import Bound, Target
from dibs import Dibs, connect

MUTEX = "lock"
RELATIVES = READ, PERMIT, FUNCTION = "rwlock.read", "semaphore", "locked"
MOST = 1.3
"""How many times the mutex they may cost."""
FACES = THREAD, TASK = "1 thread", "1 task"
FILE, REDIS = "sqlite", "redis"


def on_a_file(effort: Effort) -> list[Row]:
    """On the store that needs no server."""
    with (
        TemporaryDirectory(prefix="dibs-bench-") as folder,
        connect(f"sqlite:///{Path(folder) / 'store.sqlite'}", quiet=True) as client,
    ):
        return rows(client, FILE, effort)


def rows(client: Dibs, where: str, effort: Effort) -> list[Row]:
    """All of them, for one thread and for one task, on one store."""
    by_thread = {kind: partial(_thread, cycle, effort.span) for kind, cycle in _blocking(client).items()}
    by_task = {kind: partial(_run, cycle, effort.span) for kind, cycle in _aio(client).items()}
    return [
        *_compared(where, THREAD, interleaved(by_thread, effort.rounds)),
        *_compared(where, TASK, interleaved(by_task, effort.rounds)),
    ]


def targets(where: str) -> list[Target]:
    """What the relatives may cost there."""
    return [
        Target(named(where, face, relative), Bound.AT_MOST, MOST, named(where, face, MUTEX))
        for face in FACES
        for relative in RELATIVES
    ]


def named(where: str, face: str, kind: str) -> str:
    """The row of one of them."""
    return f"family, {where}, {face}: {kind}"


def _compared(where: str, face: str, took: dict[str, list[float]]) -> list[Row]:
    mutex, *relatives = (Row(named(where, face, kind), rounds, "µs") for kind, rounds in took.items())
    return [mutex, *(relative.beside(mutex) for relative in relatives)]


def _blocking(client: Dibs) -> dict[str, Callable[[], object]]:
    @client.locked("family:function", ttl=30)
    def function() -> None:
        pass

    def within(lock: AbstractContextManager[object]) -> None:
        with lock:
            pass

    return {
        MUTEX: partial(within, client.lock("family:mutex")),
        READ: partial(within, client.rwlock("family:read").read()),
        PERMIT: partial(within, client.semaphore("family:permit", 4)),
        FUNCTION: function,
    }


def _aio(client: Dibs) -> dict[str, Callable[[], Awaitable[object]]]:
    @client.locked("family:coroutine", ttl=30)
    async def coroutine() -> None:
        pass

    async def within(lock: AbstractAsyncContextManager[object]) -> None:
        async with lock:
            pass

    return {
        MUTEX: partial(within, client.lock("family:mutex")),
        READ: partial(within, client.rwlock("family:read").read()),
        PERMIT: partial(within, client.semaphore("family:permit", 4)),
        FUNCTION: coroutine,
    }


def _thread(cycle: Callable[[], object], span: float) -> float:
    """Microseconds for one cycle."""
    cycle()  # the first may have a file to open
    cycles, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < span:
        for _ in range(BATCH):
            cycle()
        cycles += BATCH
    return elapsed / cycles * 1e6


def _run(cycle: Callable[[], Awaitable[object]], span: float) -> float:
    return asyncio.run(_task(cycle, span))


async def _task(cycle: Callable[[], Awaitable[object]], span: float) -> float:
    """Microseconds for one cycle."""
    await cycle()  # the first meets a loop it does not know yet
    cycles, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < span:
        for _ in range(BATCH):
            await cycle()
        cycles += BATCH
    return elapsed / cycles * 1e6
