"""All that is measured of jobs by the clock, in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.cron import duplicates, lateness, load, peers, skew
from bench.cron.contest import Contest, named
from bench.cron.duplicates import Watch
from bench.cron.load import Load
from bench.cron.peers import OURS, SAQ
from bench.redis import server
from bench.redis.peers import WIRE
from bench.redis.peers import missing as missing_on_redis
from bench.rounds import Row
from bench.section import Section
from bench.targets import Bound, Target


@dataclass(frozen=True, slots=True)
class Efforts:
    """How much time goes into which figures."""

    watch: Watch
    idle: Load
    due: Load
    lateness: float


QUICK = Efforts(Watch(1, 2.0), Load(50, 0.5), Load(10, 1.0), lateness=0.5)
FULL = Efforts(Watch(3, 72.0), Load(1_000, 4.0), Load(100, 3.0), lateness=4.0)


def section(efforts: Efforts) -> Section:
    """Measure, judge and tell; where there is nothing to measure on, tell that."""
    wanted, missing = targets(efforts.idle), peers.missing()
    program = server.program()
    if program is None:
        return Section([], wanted, [f"skipped, all jobs by the clock: {server.NONE}"], missing=missing)
    if any(package in missing_on_redis() for package in WIRE):
        return Section([], wanted, ["skipped, all jobs by the clock: it takes redis and hiredis"], missing=missing)
    contest = Contest(program)
    rows = _measured(contest, efforts)
    return Section(rows, wanted, [*_notes(contest)], beside=peers.versions(), missing=missing)


def targets(idle: Load) -> list[Target]:
    """Every tick once, whatever the clocks say, and hardly a word while there is nothing to do."""
    sent = named(load.SENT, idle.idle, OURS)
    return [
        *(
            Target(named(figure, scene, OURS), Bound.AT_MOST, 0.0)
            for scene in (duplicates.RIGHT, duplicates.BEHIND)
            for figure in (duplicates.AGAIN, duplicates.MISSED)
        ),
        Target(sent, Bound.AT_MOST, 5.0, unit="/s"),
        Target(sent, Bound.AT_MOST, 1 / 20, contender=named(load.SENT, idle.idle, SAQ)),
    ]


def _measured(contest: Contest, efforts: Efforts) -> list[Row]:
    return [
        *duplicates.rows(contest, efforts.watch),
        *load.idle(contest, efforts.idle),
        *load.due(contest, efforts.due),
        *lateness.rows(contest, efforts.lateness),
    ]


def _notes(contest: Contest) -> Iterator[str]:
    yield CLOCKS if not skew.NONE else duplicates.NOT_SKEWED
    for who, why in contest.dropped.items():
        yield f"dropped out: {who} ({why})"


CLOCKS = (
    "a clock is behind by a library in front of libc's (LD_PRELOAD), for one of two processes; arq runs a tick again "
    "a minute later, so that only the first ticks of a run can show it"
)
