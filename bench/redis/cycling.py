"""Cycles with nobody in the way, each on a key of its own: how they are made and what they take."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Self

from bench.crew import Meet
from bench.redis import aio, blocking
from bench.turns import percentile

WARM_UP = 0.5
"""How long others run before we look, as a part of the span: connections are opened in it, and code gets warm."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """What came of one span."""

    pace: float
    """A second."""
    cpu: float
    """Seconds of the client's, for one."""
    p99: float
    """Seconds until the lock was there."""

    @classmethod
    def of(cls, waits: Sequence[float], *, elapsed: float, used: float) -> Self:
        """From how long each acquire took."""
        return cls(len(waits) / elapsed, used / len(waits), percentile(waits, 0.99))


def with_tasks(contender: str, port: int, tasks: int, span: float, number: int, meet: Meet) -> Cycles:
    """A part: so many tasks on one client."""

    async def live() -> Cycles:
        async with aio.OPENERS[contender](port, tasks) as locks:
            return await cycles_of_tasks(locks, tasks, span)

    return asyncio.run(live())


async def cycles_of_tasks(locks: aio.Locks, tasks: int, span: float) -> Cycles:
    """So many of them, once they are warm."""
    await _run_tasks(locks, tasks, "warm-up", span * WARM_UP)
    gc.collect()
    used, began = time.process_time(), time.perf_counter()
    waits = await _run_tasks(locks, tasks, "cycle", span)
    return Cycles.of(waits, elapsed=time.perf_counter() - began, used=time.process_time() - used)


async def _run_tasks(locks: aio.Locks, tasks: int, name: str, span: float) -> Sequence[float]:
    waits: list[float] = []
    until = time.perf_counter() + span

    async def run(task: int) -> None:
        for cycle in count():
            if (began := time.perf_counter()) > until and cycle:
                return
            async with locks(f"{name}:{task}:{cycle}"):
                waits.append(time.perf_counter() - began)

    await asyncio.gather(*map(run, range(tasks)))
    return waits


def with_threads(contender: str, port: int, threads: int, span: float, number: int, meet: Meet) -> Cycles:
    """A part: so many threads on one client."""
    with blocking.OPENERS[contender](port, threads) as locks:
        return cycles_of_threads(locks, threads, span)


def cycles_of_threads(locks: blocking.Locks, threads: int, span: float) -> Cycles:
    """So many of them, once they are warm."""
    _run_threads(locks, threads, "warm-up", span * WARM_UP)
    gc.collect()
    used, began = time.process_time(), time.perf_counter()
    waits = _run_threads(locks, threads, "cycle", span)
    return Cycles.of(waits, elapsed=time.perf_counter() - began, used=time.process_time() - used)


def _run_threads(locks: blocking.Locks, threads: int, name: str, span: float) -> Sequence[float]:
    waits: list[float] = []
    troubles: list[Exception] = []
    until = time.perf_counter() + span

    def run(thread: int) -> None:
        try:
            for cycle in count():
                if (began := time.perf_counter()) > until and cycle:
                    return
                with locks(f"{name}:{thread}:{cycle}"):
                    waits.append(time.perf_counter() - began)
        except Exception as trouble:  # noqa: BLE001 - raised where somebody hears of it
            troubles.append(trouble)

    running = [threading.Thread(target=run, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if troubles:
        raise troubles[0]
    return waits
