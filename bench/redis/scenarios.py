"""All that is measured on one Redis, in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench import family
from bench.redis import contention, cycles, idle, node, peers, pingpong, renewal, server, targets
from bench.redis.contest import Contest
from bench.redis.cores import NOT_KEPT_APART, shared_out
from bench.redis.line import HOST
from bench.redis.renewal import Holding
from bench.rounds import Effort, Row
from bench.section import Section
from bench.targets import Target
from dibs import connect


@dataclass(frozen=True, slots=True)
class Efforts:
    """How much time goes into which figures."""

    cycles: Effort
    contention: Effort
    idle: Effort
    waiters: int
    """How many wait while we look."""
    holding: Holding


QUICK = Efforts(Effort(1, 0.05), Effort(1, 0.2), Effort(1, 0.4), waiters=50, holding=Holding(100, 1.2))
FULL = Efforts(Effort(5, 0.5), Effort(3, 2.0), Effort(1, 30.0), waiters=1_000, holding=Holding(10_000, 30.0))


def section(efforts: Efforts) -> Section:
    """Measure, judge and tell; where there is nothing to measure on, tell that."""
    wanted, missing = _wanted(efforts), _missing()
    program, cores = server.program(), shared_out()
    if program is None:
        return Section([], wanted, [f"skipped, all that is on Redis: {server.NONE}"], missing=missing)
    if any(package in missing for package in peers.WIRE):
        return Section([], wanted, ["skipped, all that is on Redis: it takes redis and hiredis"], missing=missing)
    with server.serving(program, cores) as running:
        contest, where = Contest(running, cores), running.name
        rows = _measured(contest, efforts)
    beside = [*peers.versions(), *node.versions()]
    return Section(rows, wanted, [*_notes(contest)], server=where, beside=beside, missing=missing)


def _wanted(efforts: Efforts) -> list[Target]:
    return [*targets.on_redis(efforts.waiters, efforts.holding), *family.targets(family.REDIS)]


def _measured(contest: Contest, efforts: Efforts) -> list[Row]:
    return [
        *cycles.rows(contest, efforts.cycles),
        *_family(contest, efforts.cycles),
        *contention.together(contest, efforts.contention),
        *contention.apart(contest, efforts.contention),
        *idle.rows(contest, efforts.waiters, efforts.idle),
        *renewal.rows(contest, efforts.holding),
    ]


def _family(contest: Contest, effort: Effort) -> list[Row]:
    with connect(f"redis://{HOST}:{contest.server.port}", quiet=True) as client:
        return family.rows(client, family.REDIS, effort)


def _missing() -> list[str]:
    return [*peers.missing(), *([] if node.is_here() else [peers.NODE])]


def _notes(contest: Contest) -> Iterator[str]:
    yield peers.NOT_COMPARED
    if not contest.cores.are_apart:
        yield NOT_KEPT_APART
    if pingpong.compiler() is None:
        yield f"skipped, as this machine has no C compiler: {peers.PING_PONG}"
    for who, why in contest.dropped.items():
        yield f"dropped out: {who} ({why})"
