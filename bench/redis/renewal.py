"""Many leases of one process that are renewed for as long as it lives: what that takes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from math import ceil

from bench.crew import Meet, crew
from bench.idle import share_of_core
from bench.redis import watching
from bench.redis.contest import Contest
from bench.redis.cores import kept
from bench.redis.line import line, url
from bench.redis.peers import TASK
from bench.rounds import Row
from dibs import connect
from dibs.flows import keeping, recording

COMMANDS, CPU = "commands to renew and report", "CPU to renew and report"
TIMES = 2
"""How often each lease is renewed while we look."""


class NotHeld(Exception):
    """A lease was lost: then this is not what it takes to keep them."""


@dataclass(frozen=True, slots=True)
class Holding:
    """How many leases, of which TTL."""

    size: int
    ttl: float

    @property
    def period(self) -> float:
        """Seconds from one renewal to the next."""
        return self.ttl / 3

    @property
    def batches(self) -> int:
        """The commands that renew all of them once."""
        return ceil(self.size / keeping.BATCH)

    @property
    def commands(self) -> int:
        """The same, and those that tell meanwhile what was counted and who holds what."""
        return self.batches + 1 + ceil(recording.MOST / recording.BATCH)

    def named(self, figure: str) -> str:
        """The name of a row."""
        return f"{figure} {self.size:,} leases: {TASK}"


def rows(contest: Contest, holding: Holding) -> list[Row]:
    """One round, as each is long."""
    contest.server.flush()
    with crew(2) as two:
        part = partial(_watch_or_hold, contest.server.port, holding)
        commands, cpu = two.play(partial(kept, contest.cores.client, part))
    return [
        Row(holding.named(COMMANDS), [commands / TIMES], "a TTL/3"),
        Row(holding.named(CPU), [cpu], "%"),
    ]


def _watch_or_hold(port: int, holding: Holding, number: int, meet: Meet) -> float:
    """A part: the first process watches, the second has the leases."""
    if number:
        return asyncio.run(_hold(port, holding, meet))
    with line(port) as control:
        return watching.commands(control, watching.SCRIPTED, holding.period * TIMES, meet)


async def _hold(port: int, holding: Holding, meet: Meet) -> float:
    """We look from the middle between two renewals on, so that all of each are in it."""
    async with connect(url(port), quiet=True) as client:
        asked = (client.lock(f"held:{number}", ttl=holding.ttl).aacquire() for number in range(holding.size))
        leases = await asyncio.gather(*asked)
        await asyncio.sleep(holding.period / 2)
        meet()
        used = await asyncio.to_thread(share_of_core, holding.period * TIMES)
        meet()
        if lost := sum(lease.lost for lease in leases):
            raise NotHeld(f"{lost} of {holding.size} leases were lost")
    return used
