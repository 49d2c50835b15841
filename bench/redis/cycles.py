"""One acquire and release on a key that nobody else wants: cycles a second, and what one takes of the client's core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from bench.crew import Crew, Part, crew
from bench.redis import aio, blocking, cycling, node
from bench.redis.contest import Contest, beside, named
from bench.redis.cores import kept
from bench.redis.cycling import Cycles
from bench.redis.peers import NODE, REDIS_PY, REDIS_PY_ASYNCIO, TASK, THREAD, here
from bench.rounds import Effort, Row

TASKS, THREADS = (1, 16, 256), (1, 8)
CROWDED = TASKS[-1]
"""Where the client's core is the limit, so that what one cycle takes of it tells most."""
PACE, CPU, ACQUIRE = "cycles", "CPU of a cycle", "acquire p99"


def tasks(count: int) -> str:
    """So many of them."""
    return "1 task" if count == 1 else f"{count} tasks"


def threads(count: int) -> str:
    """So many of them."""
    return "1 thread" if count == 1 else f"{count} threads"


def rows(contest: Contest, effort: Effort) -> list[Row]:
    """Each contender has a process for all its rounds, as a program would that goes on for long."""
    for_tasks, for_threads = here(aio.OPENERS), here(blocking.OPENERS)
    with_node = [NODE] if node.is_here() else []
    port, span = contest.server.port, effort.span
    found: list[Row] = []
    with ExitStack() as stack:
        crews = {name: stack.enter_context(crew(1)) for name in (*for_tasks, *with_node, *for_threads)}
        for count in TASKS:
            parts: dict[str, Part[Cycles]] = {
                name: partial(cycling.with_tasks, name, port, count, span) for name in for_tasks
            }
            parts |= {name: partial(node.cycle, port, count, span) for name in with_node}
            told = _held(contest, tasks(count), parts, crews, effort.rounds)
            found += _told(tasks(count), told, ours=TASK, peer=REDIS_PY_ASYNCIO, is_crowded=count == CROWDED)
        for count in THREADS:
            parts = {name: partial(cycling.with_threads, name, port, count, span) for name in for_threads}
            told = _held(contest, threads(count), parts, crews, effort.rounds)
            found += _told(threads(count), told, ours=THREAD, peer=REDIS_PY)
    return found


def _held(
    contest: Contest, who: str, parts: Mapping[str, Part[Cycles]], crews: Mapping[str, Crew], rounds: int
) -> dict[str, list[Cycles]]:
    cores = contest.cores.client
    return contest.held(
        who, {name: partial(_played, crews[name], partial(kept, cores, part)) for name, part in parts.items()}, rounds
    )


def _played(one: Crew, part: Part[Cycles]) -> Cycles:
    return one.play(part)[0]


def _told(
    who: str, found: Mapping[str, Sequence[Cycles]], *, ours: str, peer: str, is_crowded: bool = False
) -> list[Row]:
    pace = {name: Row(named(PACE, who, name), [one.pace for one in given], "/s") for name, given in found.items()}
    cpu = {name: Row(named(CPU, who, name), [one.cpu * 1e6 for one in given], "µs") for name, given in found.items()}
    return [
        *beside(pace, [ours], peer),
        *(beside(cpu, [ours], peer) if is_crowded else ()),
        Row(named(ACQUIRE, who, ours), [one.p99 * 1e3 for one in found[ours]], "ms"),
    ]
