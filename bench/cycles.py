"""One acquire and release with nobody in the way: the floor, the whole, and our own side of it alone; then on files."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.instant import InstantBackend
from bench.peers import TASK, THREAD, file_lock, installed
from bench.rounds import Effort, Row, interleaved
from bench.wal import TwoWrites, WalFile
from dibs import Dibs, connect

BATCH = 50
"""Cycles between two looks at the clock."""

FLOOR, WHOLE, OWN = "stdlib lock", "memory://", "flow alone"
WRITES = "two WAL writes"


def rows(effort: Effort) -> list[Row]:
    with connect("memory://bench-cycles", quiet=True) as client, Dibs(InstantBackend()) as stub:
        return [
            *_compared("1 thread", _for_a_thread(client, stub, effort.span), effort.rounds),
            *_compared("1 task", _for_tasks(1, client, stub, effort.span), effort.rounds),
            *_compared("16 tasks", _for_tasks(16, client, stub, effort.span), effort.rounds),
            *_on_files(client, effort),
        ]


def _on_files(memory: Dibs, effort: Effort) -> list[Row]:
    with (
        TemporaryDirectory(prefix="dibs-bench-") as folder,
        connect(f"sqlite:///{folder}/store.sqlite", quiet=True) as client,
        closing(WalFile(Path(folder) / "floor.sqlite")) as floor,
    ):
        contenders: dict[str, Callable[[], float]] = {
            WRITES: partial(_thread, TwoWrites(floor), effort.span),
            THREAD: partial(_thread, client.lock("thread"), effort.span),
            TASK: lambda: asyncio.run(_tasks([client.lock("task")], effort.span)),
            WHOLE: partial(_thread, memory.lock("process"), effort.span),
            **{peer: partial(_thread, file_lock(peer, Path(folder)), effort.span) for peer in installed()},
        }
        told = interleaved(contenders, effort.rounds)
    writes, *others = (Row(f"cycle, 1 process: {name}", took, "µs") for name, took in told.items())
    return [writes, *(other.beside(writes) for other in others)]


def _compared(who: str, contenders: dict[str, Callable[[], float]], rounds: int) -> list[Row]:
    took = interleaved(contenders, rounds)
    floor, whole, own = (Row(f"cycle, {who}: {name}", took[name], "µs") for name in (FLOOR, WHOLE, OWN))
    return [floor, whole.beside(floor), own.beside(whole)]


def _for_a_thread(client: Dibs, stub: Dibs, span: float) -> dict[str, Callable[[], float]]:
    return {
        FLOOR: partial(_thread, threading.Lock(), span),
        WHOLE: partial(_thread, client.lock("thread"), span),
        OWN: partial(_thread, stub.lock("thread"), span),
    }


def _for_tasks(count: int, client: Dibs, stub: Dibs, span: float) -> dict[str, Callable[[], float]]:
    def contender(lock: Callable[[str], AbstractAsyncContextManager[object]]) -> Callable[[], float]:
        return lambda: asyncio.run(_tasks([lock(f"task-{number}") for number in range(count)], span))

    return {FLOOR: contender(lambda _: asyncio.Lock()), WHOLE: contender(client.lock), OWN: contender(stub.lock)}


def _thread(lock: AbstractContextManager[object], span: float) -> float:
    """Microseconds for one cycle."""
    with lock:  # the first may have a file to open
        pass
    cycles, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < span:
        for _ in range(BATCH):
            with lock:
                pass
        cycles += BATCH
    return elapsed / cycles * 1e6


async def _tasks(locks: list[AbstractAsyncContextManager[object]], span: float) -> float:
    """Microseconds for one cycle, when the tasks take turns of a batch each, and each has a lock of its own."""
    await asyncio.gather(*(_batch(lock) for lock in locks))  # the first meets a loop it does not know yet
    cycles, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < span:
        await asyncio.gather(*(_batch(lock) for lock in locks))
        cycles += BATCH * len(locks)
    return elapsed / cycles * 1e6


async def _batch(lock: AbstractAsyncContextManager[object]) -> None:
    for _ in range(BATCH):
        async with lock:
            pass
