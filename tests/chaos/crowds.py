"""The roles of programs in which many wait at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import dibs
from dibs.events import Event, JoinedQueue
from dibs.runtime.clock import boottime
from tests.chaos.actor import say, told


class WhenAllWait:
    """Says so when as many wait as there are to be."""

    def __init__(self, crowd: int) -> None:
        self._missing = crowd

    def on(self, event: Event, /) -> None:
        if isinstance(event, JoinedQueue):
            self._missing -= 1
            if self._missing == 0:
                say("all wait")


def wait_as_a_crowd(kind: str, url: str, crowd: int, ttl: float) -> None:
    """One for each of many locks, until all have got theirs."""
    d = dibs.connect(url, observers=[WhenAllWait(crowd)], quiet=True)
    names = [f"lock {number}" for number in range(crowd)]
    play: Callable[[dibs.Dibs, list[str], float], None] = _as_threads if kind == "blocking" else _as_tasks
    play(d, names, ttl)
    say("all in", boottime())
    told("end")


def _as_threads(d: dibs.Dibs, names: list[str], ttl: float) -> None:
    leases: list[dibs.Lease] = []
    threads = [
        threading.Thread(target=lambda name=name: leases.append(d.lock(name, ttl=ttl).acquire())) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lease in leases:
        lease.release()


def _as_tasks(d: dibs.Dibs, names: list[str], ttl: float) -> None:
    async def scene() -> None:
        leases = await asyncio.gather(*(d.lock(name, ttl=ttl).aacquire() for name in names))
        for lease in leases:
            await lease.arelease()

    asyncio.run(scene())
