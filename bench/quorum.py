"""Locks on five servers, of which a majority decides: cycles a second, and what becomes of them when one is stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain, pairwise
from typing import TypeAlias

from bench.crew import Crew, CrewFailed, Meet, Part, crew
from bench.redis import node, peers, server
from bench.redis.aio import SPARE, TTL
from bench.redis.aio import Locks as TaskLocks
from bench.redis.blocking import PATIENCE, RedlockPy
from bench.redis.blocking import Locks as ThreadLocks
from bench.redis.contest import beside
from bench.redis.cores import Cores
from bench.redis.cycling import Cycles, cycles_of_tasks, cycles_of_threads
from bench.redis.floors import raw_tasks_on_many
from bench.redis.line import HOST
from bench.redis.peers import NODE, POTTERY_ASYNCIO, RAW_TASK, REDLOCK_PY
from bench.rounds import Effort, Row, interleaved
from bench.section import Section
from bench.targets import Bound, Target
from dibs import Dibs, connect

SERVERS = 5
AT_ONCE = (1, 16, 256)
THREAD, TASK = "redlock://", "redlock:// asyncio"
WITHOUT_ONE = "redlock:// asyncio, one of five stopped"

PROCESSES, EACH, SHORTEST = 4, 16, 0.3
HAND_OVERS = "quorum of five, 64 for one lock in 4 processes: hand-overs"
LONGEST_PAUSE = "quorum of five, 64 for one lock in 4 processes: longest pause"

Ports: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Efforts:
    """How much time goes into the figures, and how many at once are tried."""

    cycles: Effort
    at_once: Sequence[int] = AT_ONCE


QUICK, FULL = Efforts(Effort(1, 0.1)), Efforts(Effort(5, 1.0))


def named(count: int, contender: str) -> str:
    """The name of a row."""
    return f"quorum of five, {count} at once: {contender}"


def section(efforts: Efforts) -> Section:
    """Measure, judge and tell; where there is nothing to measure on, tell that."""
    program, wanted = server.program(), _wanted()
    if program is None or any(package in peers.missing() for package in peers.WIRE):
        return Section([], wanted, ["skipped, all that is on five servers: it takes a server, redis and hiredis"])
    dropped: dict[str, str] = {}
    with _five(program) as five:
        rows = [row for count in efforts.at_once for row in _rows(five, count, efforts.cycles, dropped)]
        rows += _contended([one.port for one in five], efforts.cycles)
        name = five[0].name
    notes = [f"dropped out: {who} ({why})" for who, why in dropped.items()]
    return Section(rows, wanted, notes, server=f"five times {name}, on all cores")


def _wanted() -> list[Target]:
    others = [
        Target(named(count, TASK), Bound.AT_LEAST, 5.0, named(count, other))
        for count in AT_ONCE
        for other in (POTTERY_ASYNCIO, REDLOCK_PY, NODE)
    ]
    stopped = Target(named(1, WITHOUT_ONE), Bound.AT_LEAST, 1 / 1.2, named(1, TASK))
    return [*others, stopped, Target(LONGEST_PAUSE, Bound.AT_MOST, 100.0, unit="ms")]


def _contended(ports: Ports, effort: Effort) -> list[Row]:
    """Many who all want the same lock, in several processes: how often it changes hands, and how long it does not."""
    paces, pauses = list[float](), list[float]()
    with crew(PROCESSES) as four:
        for _ in range(effort.rounds):
            moments = sorted(chain(*four.play(partial(_contend, ports, max(effort.span, SHORTEST)))))
            paces.append((len(moments) - 1) / (moments[-1] - moments[0]))
            pauses.append(max(later - earlier for earlier, later in pairwise(moments)) * 1e3)
    return [Row(HAND_OVERS, paces, "/s"), Row(LONGEST_PAUSE, pauses, "ms")]


def _contend(ports: Ports, span: float, number: int, meet: Meet) -> list[float]:
    async def live() -> list[float]:
        moments = list[float]()

        async def work(client: Dibs) -> None:
            while time.perf_counter() < until:
                async with client.lock("hot", ttl=TTL):
                    moments.append(time.perf_counter())

        async with connect(_url(ports), quiet=True) as client:
            async with client.lock(f"warm-up {number}", ttl=TTL):
                pass
            meet()
            until = time.perf_counter() + span
            await asyncio.gather(*(work(client) for _ in range(EACH)))
        return moments

    return asyncio.run(live())


@dataclass(frozen=True, slots=True)
class Running:
    """One of the five."""

    port: int
    pid: int
    name: str


@contextmanager
def _five(program: str) -> Iterator[Sequence[Running]]:
    with ExitStack() as stack:
        running = list[Running]()
        for _ in range(SERVERS):
            one = stack.enter_context(server.serving(program, Cores()))
            running.append(Running(one.port, one.pid, one.name))
        yield running


def _rows(five: Sequence[Running], count: int, effort: Effort, dropped: dict[str, str]) -> list[Row]:
    ports = [one.port for one in five]
    parts: dict[str, Part[Cycles]] = {
        name: partial(_tasks, name, ports, count, effort.span) for name in peers.here(TASKS)
    }
    parts |= {name: partial(_threads, name, ports, count, effort.span) for name in peers.here(THREADS)}
    if node.is_here():
        parts[NODE] = partial(node.cycle, ports, count, effort.span)
    with ExitStack() as stack:
        crews = {name: stack.enter_context(crew(1)) for name in (*parts, WITHOUT_ONE)}
        plays = {name: partial(_played, name, crews[name], part, dropped) for name, part in parts.items()}
        as_usual = partial(_played, WITHOUT_ONE, crews[WITHOUT_ONE], parts[TASK], dropped)
        plays[WITHOUT_ONE] = partial(_without_one, five[-1].pid, as_usual)
        found = interleaved(plays, effort.rounds)
    whole = {name: given for name, given in found.items() if None not in given}
    rows = {name: Row(named(count, name), [one.pace for one in given if one], "/s") for name, given in whole.items()}
    return [*beside(rows, [TASK], NODE if NODE in rows else POTTERY_ASYNCIO)]


def _played(name: str, one: Crew, part: Part[Cycles], dropped: dict[str, str]) -> Cycles | None:
    if name in dropped:
        return None
    try:
        return one.play(part)[0]
    except CrewFailed as error:
        if name in (TASK, THREAD, WITHOUT_ONE):
            raise
        dropped[name] = str(error).strip().splitlines()[-1]
        return None


def _without_one(pid: int, play: Callable[[], Cycles | None]) -> Cycles | None:
    os.kill(pid, signal.SIGSTOP)
    try:
        return play()
    finally:
        os.kill(pid, signal.SIGCONT)


def _tasks(contender: str, ports: Ports, tasks: int, span: float, number: int, meet: Meet) -> Cycles:
    async def live() -> Cycles:
        async with TASKS[contender](ports, tasks) as locks:
            return await cycles_of_tasks(locks, tasks, span)

    return asyncio.run(live())


def _threads(contender: str, ports: Ports, threads: int, span: float, number: int, meet: Meet) -> Cycles:
    with THREADS[contender](ports, threads) as locks:
        return cycles_of_threads(locks, threads, span)


@asynccontextmanager
async def _ours(ports: Ports, crowd: int) -> AsyncIterator[TaskLocks]:
    async with connect(_url(ports), quiet=True) as client:
        yield lambda key: client.lock(key, ttl=TTL)


@asynccontextmanager
async def _raw(ports: Ports, crowd: int) -> AsyncIterator[TaskLocks]:
    async with raw_tasks_on_many(ports) as locks:
        yield locks


@asynccontextmanager
async def _pottery(ports: Ports, crowd: int) -> AsyncIterator[TaskLocks]:
    lock, redis = import_module("pottery").AIORedlock, import_module("redis.asyncio").Redis
    masters = {redis(host=HOST, port=port, max_connections=crowd + SPARE) for port in ports}
    yield lambda key: lock(key=key, masters=masters, auto_release_time=TTL)
    for master in masters:
        await master.aclose()


@contextmanager
def _ours_by_threads(ports: Ports, crowd: int) -> Iterator[ThreadLocks]:
    with connect(_url(ports), quiet=True) as client:
        yield lambda key: client.lock(key, ttl=TTL)


@contextmanager
def _redlock_py(ports: Ports, crowd: int) -> Iterator[ThreadLocks]:
    servers = [{"host": HOST, "port": port, "max_connections": crowd + SPARE} for port in ports]
    manager = import_module("redlock").Redlock(servers, retry_count=PATIENCE)
    yield lambda key: RedlockPy(manager, key)


def _url(ports: Ports) -> str:
    return "redlock://" + ",".join(f"{HOST}:{port}" for port in ports)


TASKS: Mapping[str, Callable[[Ports, int], AbstractAsyncContextManager[TaskLocks]]] = {
    RAW_TASK: _raw,
    TASK: _ours,
    POTTERY_ASYNCIO: _pottery,
}
THREADS = {THREAD: _ours_by_threads, REDLOCK_PY: _redlock_py}
