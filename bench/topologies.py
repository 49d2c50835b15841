"""What it costs to find the master by its sentinels, or the one of a slot: beside one server with as many replicas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from bench.redis.aio import Locks
from bench.redis.floors import RawTaskLock, raw_lines
from bench.rounds import Effort, Row, interleaved
from bench.section import Section
from bench.targets import Bound, Target
from dibs import connect
from dibs.stores.redis.cluster.slots import SLOTS, slot_of
from tests.servers.cluster import MASTERS, Cluster
from tests.servers.kinds import KINDS, VALKEY_9
from tests.servers.ports import HOST
from tests.servers.sentinels import PASSWORD, House
from tests.servers.server import Server

QUICK, FULL = Effort(1, 0.05), Effort(9, 0.5)
FIRST = next((kind for kind in KINDS if kind.program() is not None), VALKEY_9)
MOST = 1.15
"""How many times one server's time a cycle may take."""
SENTINEL, CLUSTER = "sentinel", "cluster"
BESIDE = {SENTINEL: "its master alone", CLUSTER: "one server with a replica"}
FLOOR = {f"raw asyncio, {CLUSTER}": f"raw asyncio, {BESIDE[CLUSTER]}"}
"""What it costs anybody to talk to three servers instead of one."""
TASKS = (1, 16, 256)
WAITERS = 64
KEYS = 50
WARM_UP = 0.25

Work: TypeAlias = Callable[[Locks, float], Awaitable[float]]
Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[Locks]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something to do for a while, and how often it was done in a second."""

    name: str
    work: Work
    has_floor: bool = True

    @property
    def pairs(self) -> Mapping[str, str]:
        """Whom to measure, and beside whom."""
        return {**BESIDE, **FLOOR} if self.has_floor else BESIDE


def section(effort: Effort) -> Section:
    """Measure, and judge."""
    if FIRST.program() is None:
        return Section([], _wanted(), [f"skipped, all on several servers: {FIRST.missing}"])
    with _served() as openers:
        rows = [row for scenario in SCENARIOS for row in _rows(scenario, openers, effort)]
    return Section(rows, _wanted(), server=f"{FIRST}, with replicas on the same machine")


def named(scenario: Scenario, where: str) -> str:
    """The row of one of them."""
    return f"topologies, {scenario.name}: {where}"


def _wanted() -> list[Target]:
    return [
        Target(named(scenario, where), Bound.AT_MOST, MOST, named(scenario, beside))
        for scenario in SCENARIOS
        for where, beside in BESIDE.items()
    ]


def _rows(scenario: Scenario, openers: Mapping[str, Opener], effort: Effort) -> Iterator[Row]:
    wheres = [where for pair in scenario.pairs.items() for where in pair]
    contenders = {where: partial(_run, scenario.work, openers[where], effort.span) for where in wheres}
    taken = interleaved(contenders, effort.rounds)
    took = {where: Row(named(scenario, where), rounds, "µs") for where, rounds in taken.items()}
    for where, beside in scenario.pairs.items():
        yield took[beside]
        yield took[where].beside(took[beside])


def _run(work: Work, opened: Opener, span: float) -> float:
    """Microseconds for each."""

    async def whole() -> float:
        async with opened() as locks:
            await work(locks, WARM_UP)  # connections to all servers are made, and their slots are known
            return 1e6 / await work(locks, span)

    return asyncio.run(whole())


async def _cycles(tasks: int, locks: Locks, span: float) -> float:
    """Locks that nobody else wants, taken and given back."""
    ends_at, done = time.perf_counter() + span, 0

    async def cycle(task: int) -> None:
        nonlocal done
        turn = 0
        while time.perf_counter() < ends_at:
            turn += 1
            async with locks(f"free-{task}-{turn % KEYS}"):
                done += 1

    await asyncio.gather(*map(cycle, range(tasks)))
    return done / span


async def _hand_overs(locks: Locks, span: float) -> float:
    """One lock that all want."""
    ends_at, done = time.perf_counter() + span, 0

    async def queue() -> None:
        nonlocal done
        while time.perf_counter() < ends_at:
            async with locks("hot"):
                done += 1

    await asyncio.gather(*(queue() for _ in range(WAITERS)))
    return done / span


SCENARIOS = (
    *(Scenario(f"uncontended, {tasks} tasks", partial(_cycles, tasks)) for tasks in TASKS),
    Scenario(f"contended, {WAITERS} tasks", _hand_overs, has_floor=False),
)


@asynccontextmanager
async def _ours(url: str) -> AsyncIterator[Locks]:
    async with connect(url, quiet=True) as client:
        yield client.lock


@asynccontextmanager
async def _raw(ports: Sequence[int]) -> AsyncIterator[Locks]:
    """Each key on the server that has its slot: they share them out evenly."""
    share = -(-SLOTS // len(ports))
    async with raw_lines(ports) as lines:
        yield lambda key: RawTaskLock(lines[slot_of(key.encode()) // share], key)


@contextmanager
def _served() -> Iterator[Mapping[str, Opener]]:
    """By the name of each, how it is opened."""
    with ExitStack() as servers:
        alone = servers.enter_context(Server(FIRST))
        servers.enter_context(Server(FIRST, f"replicaof {HOST} {alone.port}"))
        house, cluster = servers.enter_context(House(FIRST)), servers.enter_context(Cluster(FIRST))
        master = f"redis://:{PASSWORD}@{HOST}:{house.master.port}"
        [(raw, raw_beside)] = FLOOR.items()
        yield {
            BESIDE[SENTINEL]: partial(_ours, master),
            SENTINEL: partial(_ours, house.url),
            BESIDE[CLUSTER]: partial(_ours, alone.url),
            CLUSTER: partial(_ours, cluster.url),
            raw_beside: partial(_raw, [alone.port]),
            raw: partial(_raw, [server.port for server in cluster.servers[:MASTERS]]),
        }
