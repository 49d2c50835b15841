"""Many who want the same lock: how often it changes hands, and whether all get their share."""

from __future__ import annotations

import asyncio
import select
import threading
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field

from bench.rounds import Effort, Row, interleaved
from bench.turns import jain
from dibs import Dibs, connect

THREADS, TASKS = 8, 64
FLOOR, OURS = "stdlib lock", "memory://"


@dataclass(slots=True)
class Hands:
    """Through which hands a lock went; each notes itself while it holds the lock."""

    count: int
    until: float
    handovers: int = 0
    last: int = -1
    turns: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.turns = [0] * self.count

    def note(self, number: int) -> None:
        """One turn of one of them."""
        self.turns[number] += 1
        self.handovers += number != self.last
        self.last = number

    def is_open(self) -> bool:
        """Whether there is time for another turn."""
        return time.perf_counter() < self.until


def rows(effort: Effort) -> list[Row]:
    with connect("memory://bench-contention", quiet=True) as client:
        return [
            *_compared(f"{THREADS} threads", _for_threads(client, effort.span), effort),
            *_compared(f"{TASKS} tasks", _for_tasks(client, effort.span), effort),
        ]


def _compared(who: str, contenders: dict[str, Callable[[], Hands]], effort: Effort) -> list[Row]:
    """No ratio of hand-overs: those of `threading.Lock` go from hundreds to tens of thousands in the same minute."""
    found = interleaved(contenders, effort.rounds)
    pace = {name: [hands.handovers / effort.span for hands in given] for name, given in found.items()}
    share = {name: [jain(hands.turns) for hands in given] for name, given in found.items()}
    unfair, fair = (Row(f"fairness, {who}: {name}", share[name], "Jain index") for name in (FLOOR, OURS))
    return [
        *(Row(f"hand-overs, {who}: {name}", pace[name], "/s") for name in (FLOOR, OURS)),
        unfair,
        fair.beside(unfair),
    ]


def _for_threads(client: Dibs, span: float) -> dict[str, Callable[[], Hands]]:
    return {
        FLOOR: lambda: _threads(threading.Lock(), span),
        OURS: lambda: _threads(client.lock("threads"), span),
    }


def _for_tasks(client: Dibs, span: float) -> dict[str, Callable[[], Hands]]:
    return {
        FLOOR: lambda: asyncio.run(_tasks(asyncio.Lock(), span)),
        OURS: lambda: asyncio.run(_tasks(client.lock("tasks"), span)),
    }


def _threads(lock: AbstractContextManager[object], span: float) -> Hands:
    """Each gives the interpreter away while it holds the lock, or the threads would meet only by accident."""
    hands = Hands(THREADS, time.perf_counter() + span)
    together = threading.Barrier(THREADS)

    def live(number: int) -> None:
        together.wait()
        while hands.is_open():
            with lock:
                hands.note(number)
                select.select((), (), (), 0)

    threads = [threading.Thread(target=live, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return hands


async def _tasks(lock: AbstractAsyncContextManager[object], span: float) -> Hands:
    """Each lets the others run while it holds the lock, or a task alone would never wait."""
    hands = Hands(TASKS, time.perf_counter() + span)

    async def live(number: int) -> None:
        while hands.is_open():
            async with lock:
                hands.note(number)
                await asyncio.sleep(0)

    await asyncio.gather(*(live(number) for number in range(TASKS)))
    return hands
