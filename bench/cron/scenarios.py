"""All that is measured of jobs by the clock, in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.cron import control, duplicates, lateness, load, peers, scale, skew, usage
from bench.cron.contest import Contest, named
from bench.cron.control import Acts
from bench.cron.duplicates import Watch
from bench.cron.load import Load
from bench.cron.peers import OURS, SAQ
from bench.cron.scale import Scale
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
    scale: Scale
    acts: Acts


QUICK = Efforts(
    Watch(1, 2.0), Load(50, 0.5), Load(10, 1.0), lateness=0.5, scale=Scale((100,), (), 20, 1, 0.5), acts=Acts(4)
)
FULL = Efforts(
    Watch(3, 72.0),
    Load(1_000, 4.0),
    Load(100, 3.0),
    lateness=4.0,
    scale=Scale((1_000, 10_000, 100_000), (1_000, 10_000), 1_000, 5, 5.0),
    acts=Acts(200),
)


def section(efforts: Efforts) -> Section:
    """Measure, judge and tell; where there is nothing to measure on, tell that."""
    wanted, missing = targets(efforts), peers.missing()
    program = server.program()
    if program is None:
        return Section([], wanted, [f"skipped, all jobs by the clock: {server.NONE}"], missing=missing)
    if any(package in missing_on_redis() for package in WIRE):
        return Section([], wanted, ["skipped, all jobs by the clock: it takes redis and hiredis"], missing=missing)
    contest = Contest(program)
    rows = _measured(contest, efforts)
    return Section(rows, wanted, [*_notes(contest)], beside=peers.versions(), missing=missing)


def targets(efforts: Efforts) -> list[Target]:
    """Every tick once, whatever the clocks say, and hardly a word while there is nothing to do."""
    idle = efforts.idle.idle
    sent = named(load.SENT, idle, OURS)
    return [
        *(
            Target(named(figure, scene, OURS), Bound.AT_MOST, 0.0)
            for scene in (duplicates.RIGHT, duplicates.BEHIND)
            for figure in (duplicates.AGAIN, duplicates.MISSED)
        ),
        Target(sent, Bound.AT_MOST, 5.0, unit="/s"),
        Target(sent, Bound.AT_MOST, 1 / 20, contender=named(load.SENT, idle, SAQ)),
        *scale.targets(efforts.scale),
        *control.targets(),
    ]


def _measured(contest: Contest, efforts: Efforts) -> list[Row]:
    return [
        *duplicates.rows(contest, efforts.watch),
        *load.idle(contest, efforts.idle),
        *load.due(contest, efforts.due),
        *lateness.rows(contest, efforts.lateness),
        *(scale.rows(contest.program, efforts.scale) if usage.is_told() else ()),
        *control.rows(contest.program, efforts.acts),
    ]


def _notes(contest: Contest) -> Iterator[str]:
    yield CLOCKS if not skew.NONE else duplicates.NOT_SKEWED
    if not usage.is_told():
        yield "skipped, many schedules: only Linux tells what a process has used"
    for who, why in contest.dropped.items():
        yield f"dropped out: {who} ({why})"


CLOCKS = (
    "a clock is behind by a library in front of libc's (LD_PRELOAD), for one of two processes; arq runs a tick again "
    "a minute later, so that only the first ticks of a run can show it"
)
