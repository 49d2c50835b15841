"""The roles of programs in which many tasks wait for one lock."""

from __future__ import annotations

import asyncio

import dibs
from tests.chaos.actor import say
from tests.chaos.crowds import WhenAllWait


def wait_in_line(url: str, name: str, ttl: float, people: int) -> None:
    """So many tasks, each of which wants the lock once; they ask in their order, and say in which they had it."""
    served: list[tuple[int, int]] = []

    async def visit(d: dibs.Dibs, number: int) -> None:
        async with d.lock(name, ttl=ttl) as lease:
            served.append((lease.fence, number))

    async def main() -> None:
        async with dibs.connect(url, observers=[WhenAllWait(people)], quiet=True) as d:
            async with d.lock("warm-up"):
                pass
            await asyncio.gather(*(visit(d, number) for number in range(people)))

    asyncio.run(main())
    fences = [fence for fence, _ in served]
    say("served", len(served), [number for _, number in served] == list(range(people)), fences == sorted(set(fences)))
