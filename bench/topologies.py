"""What it costs to find the master by its sentinels, or the one of a slot: beside one server with as many replicas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from bench.rounds import Effort, Row, interleaved
from bench.section import Section
from bench.targets import Bound, Target
from dibs import Dibs, connect
from tests.servers.cluster import Cluster
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
TASKS = (1, 16, 256)
WAITERS = 64
KEYS = 50
WARM_UP = 0.25

Work = Callable[[Dibs, float], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something to do for a while, and how often it was done in a second."""

    name: str
    work: Work


def section(effort: Effort) -> Section:
    """Measure, and judge."""
    if FIRST.program() is None:
        return Section([], _wanted(), [f"skipped, all on several servers: {FIRST.missing}"])
    with _served() as urls:
        rows = [row for scenario in SCENARIOS for row in _rows(scenario, urls, effort)]
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


def _rows(scenario: Scenario, urls: Mapping[str, str], effort: Effort) -> Iterator[Row]:
    contenders = {where: partial(_run, scenario.work, url, effort.span) for where, url in urls.items()}
    took = {where: Row(named(scenario, where), rounds, "µs") for where, rounds in _taken(contenders, effort).items()}
    for where, beside in BESIDE.items():
        yield took[beside]
        yield took[where].beside(took[beside])


def _taken(contenders: Mapping[str, Callable[[], float]], effort: Effort) -> dict[str, list[float]]:
    return interleaved(dict(contenders), effort.rounds)


def _run(work: Work, url: str, span: float) -> float:
    """Microseconds for each."""

    async def whole() -> float:
        async with connect(url, quiet=True) as client:
            await work(client, WARM_UP)  # connections to all servers are made, and their slots are known
            return 1e6 / await work(client, span)

    return asyncio.run(whole())


async def _cycles(tasks: int, client: Dibs, span: float) -> float:
    """Locks that nobody else wants, taken and given back."""
    ends_at, done = time.perf_counter() + span, 0

    async def cycle(task: int) -> None:
        nonlocal done
        turn = 0
        while time.perf_counter() < ends_at:
            turn += 1
            async with client.lock(f"free-{task}-{turn % KEYS}"):
                done += 1

    await asyncio.gather(*map(cycle, range(tasks)))
    return done / span


async def _hand_overs(client: Dibs, span: float) -> float:
    """One lock that all want."""
    ends_at, done = time.perf_counter() + span, 0

    async def queue() -> None:
        nonlocal done
        while time.perf_counter() < ends_at:
            async with client.lock("hot"):
                done += 1

    await asyncio.gather(*(queue() for _ in range(WAITERS)))
    return done / span


SCENARIOS = (
    *(Scenario(f"uncontended, {tasks} tasks", partial(_cycles, tasks)) for tasks in TASKS),
    Scenario(f"contended, {WAITERS} tasks", _hand_overs),
)


@contextmanager
def _served() -> Iterator[Mapping[str, str]]:
    """By the name of each, its URL."""
    with ExitStack() as servers:
        alone = servers.enter_context(Server(FIRST))
        servers.enter_context(Server(FIRST, f"replicaof {HOST} {alone.port}"))
        house, cluster = servers.enter_context(House(FIRST)), servers.enter_context(Cluster(FIRST))
        master = f"redis://:{PASSWORD}@{HOST}:{house.master.port}"
        yield {
            BESIDE[SENTINEL]: master,
            SENTINEL: house.url,
            BESIDE[CLUSTER]: alone.url,
            CLUSTER: cluster.url,
        }
