"""The roles of programs in which many tasks wait for one lock."""

from __future__ import annotations

import asyncio

import dibs
from dibs.events import Event, JoinedQueue
from tests.chaos.actor import say


class _Gate:
    """Says so when all are in line."""

    def __init__(self, people: int) -> None:
        self._missing = people

    def on(self, event: Event, /) -> None:
        if isinstance(event, JoinedQueue):
            self._missing -= 1
            if not self._missing:
                say("all wait")


def wait_in_line(url: str, name: str, ttl: float, people: int) -> None:
    """So many tasks, each of which wants the lock once; they ask in their order, and say in which they had it."""
    served: list[tuple[int, int]] = []

    async def visit(d: dibs.Dibs, number: int) -> None:
        async with d.lock(name, ttl=ttl) as lease:
            served.append((lease.fence, number))

    async def main() -> None:
        async with dibs.connect(url, observers=[_Gate(people)], quiet=True) as d:
            async with d.lock("warm-up"):
                pass
            await asyncio.gather(*(visit(d, number) for number in range(people)))

    asyncio.run(main())
    fences = [fence for fence, _ in served]
    say("served", len(served), [number for _, number in served] == list(range(people)), fences == sorted(set(fences)))
