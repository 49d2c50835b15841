"""One acquire and release with nobody in the way: the floor, the whole, and our own side of it alone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial

from bench.instant import InstantBackend
from bench.rounds import Effort, Row, interleaved
from dibs import Dibs, connect

BATCH = 50
"""Cycles between two looks at the clock."""

FLOOR, WHOLE, OWN = "stdlib lock", "memory://", "flow alone"


def rows(effort: Effort) -> list[Row]:
    with connect("memory://bench-cycles", quiet=True) as client, Dibs(InstantBackend()) as stub:
        return [
            *_compared("1 thread", _for_a_thread(client, stub, effort.span), effort.rounds),
            *_compared("1 task", _for_tasks(1, client, stub, effort.span), effort.rounds),
            *_compared("16 tasks", _for_tasks(16, client, stub, effort.span), effort.rounds),
        ]


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
