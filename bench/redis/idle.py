"""Many who wait, each for a key of its own that another process keeps: what the waiting alone asks of all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from bench.crew import Meet, crew
from bench.idle import NotWaiting, share_of_core
from bench.redis import aio, blocking, watching
from bench.redis.contest import Contest
from bench.redis.cores import kept
from bench.redis.line import line
from bench.redis.peers import REDIS_PY, REDIS_PY_ASYNCIO, TASK, THREAD
from bench.rounds import Effort, Row

SETTLING = 1.0
"""The most seconds in which all have asked, and have nothing left to do but wait."""
FEW, BRIEFLY = 20, 3.0
"""Waiters, and seconds, that are enough to know what it takes to look again and again."""
COMMANDS, CPU, CONNECTIONS = "commands", "CPU", "connections"


@dataclass(frozen=True, slots=True)
class Wait:
    """Who waits for whom, how many of them, and for how long we look."""

    keeper: str
    waiter: str
    words: frozenset[str]
    size: int
    span: float

    @property
    def settling(self) -> float:
        return min(SETTLING, self.span)


@dataclass(frozen=True, slots=True)
class Idle:
    """What it takes."""

    commands: float = 0.0
    """A second, with those of the process that keeps the locks."""
    cpu: float = 0.0
    """Percent of a core, of the process that waits."""
    connections: int = 0


def named(figure: str, size: int, contender: str) -> str:
    """The name of a row."""
    return f"{figure} of {size:,} idle waiters: {contender}"


def rows(contest: Contest, size: int, effort: Effort) -> list[Row]:
    """In a TTL, thirty seconds, each has done all that it ever does; a shorter span may miss some of it."""
    few, briefly = min(size, FEW), min(effort.span, BRIEFLY)
    waits = {
        REDIS_PY_ASYNCIO: Wait(REDIS_PY, REDIS_PY_ASYNCIO, watching.POLLED, few, briefly),
        TASK: Wait(THREAD, TASK, watching.SCRIPTED, size, effort.span),
    }
    contenders: Mapping[str, Callable[[], Idle]] = {
        name: partial(_waited, contest, wait) for name, wait in waits.items()
    }
    found = contest.held("idle waiting", contenders, effort.rounds)
    return [
        row
        for figure, unit, measure in _FIGURES
        for row in (
            Row(named(figure, waits[name].size, name), [*map(measure, given)], unit) for name, given in found.items()
        )
    ]


_FIGURES: Sequence[tuple[str, str, Callable[[Idle], float]]] = (
    (COMMANDS, "/s", lambda idle: idle.commands),
    (CPU, "%", lambda idle: idle.cpu),
    (CONNECTIONS, "", lambda idle: idle.connections),
)


def _waited(contest: Contest, wait: Wait) -> Idle:
    with crew(2) as two:
        kept_so, waited_so = two.play(
            partial(kept, contest.cores.client, partial(_keep_or_wait, contest.server.port, wait))
        )
    return Idle(kept_so.commands, waited_so.cpu, waited_so.connections)


def _keep_or_wait(port: int, wait: Wait, number: int, meet: Meet) -> Idle:
    """A part: the first process keeps all the locks and watches, the second waits."""
    return asyncio.run(_wait(port, wait, meet)) if number else _keep(port, wait, meet)


def _keep(port: int, wait: Wait, meet: Meet) -> Idle:
    with (
        blocking.OPENERS[wait.keeper](port, wait.size) as locks,
        line(port) as control,
        ExitStack() as held,
    ):
        for number in range(wait.size):
            held.enter_context(locks(_key(number)))
        meet()
        return Idle(commands=watching.commands(control, wait.words, wait.span, meet) / wait.span)


async def _wait(port: int, wait: Wait, meet: Meet) -> Idle:
    passed: list[int] = []
    async with aio.OPENERS[wait.waiter](port, wait.size) as locks:
        meet()
        tasks = [asyncio.create_task(_pass_through(locks, number, passed)) for number in range(wait.size)]
        await asyncio.sleep(wait.settling)
        meet()
        used = await asyncio.to_thread(share_of_core, wait.span)
        idle, too_early = Idle(cpu=used, connections=watching.connections(port)), len(passed)
        meet()
        await asyncio.gather(*tasks)
    if too_early or len(passed) != wait.size:
        raise NotWaiting(f"{too_early} of {wait.size} had a lock while another process kept it, {len(passed)} later")
    return idle


async def _pass_through(locks: aio.Locks, number: int, passed: list[int]) -> None:
    async with locks(_key(number)):
        passed.append(number)


def _key(number: int) -> str:
    return f"kept:{number}"
