"""What people and pages ask about all jobs: each question goes by the index that tells most, and has an end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import merge
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from dibs.flows import journal
from dibs.flows.muster import survey
from dibs.flows.sheets import look, readable
from dibs.model.calendar.rule import LATEST
from dibs.model.fleet import FLEET, freeze_of
from dibs.model.holding import Holding
from dibs.model.job import belongs_to
from dibs.model.record import ACTS, RAN, RUNS, Act, Record, of_acts, of_node, of_state
from dibs.model.sheet import Question
from dibs.model.spans import covering
from dibs.model.ticks import last_tick
from dibs.model.ticks import moment as as_text
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.journal import Found
    from dibs.model.holding import Ended
    from dibs.model.job import Job, Run
    from dibs.ports.world import World

MOST_TIMED = 1_000
"""Of so many runs it is told how long they took."""
MOST_LOOKED_AT = 5_000
"""So many schedules are looked at for what is to come."""
AT_ONCE = 200


@value
class Time:
    """From then to then, both included."""

    since: float = -inf
    until: float = inf


# What has been.


@value
class Runs:
    """Which runs are meant: those of which all holds that is said."""

    job: str = ""
    state: str = ""
    node: str = ""

    @property
    def index(self) -> str:
        """Where the fewest are that are not meant."""
        if self.state and self.job:
            return of_state(self.state, self.job)
        if self.job:
            return self.job
        if self.node:
            return of_node(self.node, self.state)
        return of_state(self.state) if self.state else RUNS

    def fits(self, record: Record) -> bool:
        """Whether this one is meant, of those of the index."""
        return self.state in {"", record.outcome} and self.node in {"", record.node}


async def runs(world: World, desk: Desk, wanted: Runs, page: Question) -> Found[Record]:
    """What became of these, the latest first: as many as the page is long, in its time."""
    return await journal.found(world, desk, replace(page, tag=wanted.index), Record, fits=wanted.fits)


async def timed(world: World, desk: Desk, wanted: Runs, *, time: Time) -> Found[Record]:
    """The latest that somebody ran and ended, of which it can be told how long they took."""
    page = Question(wanted.index, time.since, time.until, limit=MOST_TIMED)
    return await journal.found(world, desk, page, Record, fits=_has_run)


async def acts(world: World, desk: Desk, job: str, page: Question) -> Found[Act]:
    """What people have done to a job, or to any and to the fleet."""
    return await journal.found(world, desk, replace(page, tag=of_acts(job) if job else ACTS), Act, fits=_is_done)


def _has_run(record: Record) -> bool:
    return record.started_at > 0


def _is_done(act: Act) -> bool:
    """Whether somebody did it; else it is what a node has met with."""
    return act.act not in {"silent", "unattended"}


# Who was at work.


async def at_work(world: World, desk: Desk, moment: float, *, job: str | None = None) -> Sequence[Holding]:
    """The runs of all jobs, or of one, that somebody had in hand at a moment; those that go on as of the last beats."""
    found = list[Holding]()
    for question in covering(RAN, moment):
        anytime = Question(question.tag, limit=question.limit)  # these are dated by their ticks, not by their ends
        found += [_ended(name, record) for name, record in await journal.runs(world, desk, anytime)]
    nodes = (await survey(world, desk)).nodes
    names = sorted({name for node in nodes for name in node.runs})
    for start in range(0, len(names), AT_ONCE):
        reading = await look(world, desk, desk.store.sheets(names[start : start + AT_ONCE]))
        jobs = readable(reading.look.sheets)
        found += [_running(each.belongs_to, run, reading.look.now) for each in jobs for run in each.running]
    meant = [each for each in found if each.since <= moment and job in {None, each.name}]
    return [each for each in meant if each.ended == "held" or each.covers(moment)]


def _ended(sheet: str, record: Record) -> Holding:
    reason = record.outcome + (f": {record.reason}" if record.reason else "")
    ended: Ended = "lost" if record.outcome == "lost" else "released"
    return Holding(
        belongs_to(sheet),
        record.node,
        record.fence,
        record.started_at,
        record.ended_at,
        ended,
        _purpose(record.tick),
        reason,
        kind="run",
    )


def _running(job: str, run: Run, now: float) -> Holding:
    return Holding(job, run.node, run.fence, run.started_at, now, "held", _purpose(run.tick), kind="run")


def _purpose(tick: float) -> str:
    return f"the run of {as_text(tick)}"


# What is to come.


@value
class Fire:
    """A tick that is to come, and when it is to be run."""

    at: float
    tick: float
    job: Job


@value
class Outlook:
    """What is to come, in its order."""

    fires: Sequence[Fire]
    is_complete: bool
    """Whether that is all of that time."""
    is_frozen: bool
    """Whether none of it is run before the fleet is thawed."""


async def upcoming(world: World, desk: Desk, job: str, *, time: Time, limit: int) -> Outlook:
    """The next ticks of that time, or from now on.

    Schedules are looked at in the order in which something is to be done about them: the first of them suffice.
    """
    fires, by, is_frozen, skip = list[Fire](), min(time.until, LATEST), False, 0
    while skip < MOST_LOOKED_AT:
        reading = await look(world, desk, desk.store.due(skip, AT_ONCE, by=by))
        sheets, now = reading.look.sheets, reading.look.now
        is_frozen = is_frozen or any(sheet.name == FLEET and freeze_of(sheet, now) is not None for sheet in sheets)
        jobs, begin = list(readable(sheets)), now if time.since == -inf else time.since
        theirs = [_fires(each, begin, by) for each in jobs if job in {"", each.name, each.done_by}]
        fires = list(islice(merge(fires, *theirs, key=lambda fire: fire.at), limit + 1))
        if len(sheets) < AT_ONCE:
            return Outlook(fires[:limit], len(fires) <= limit, is_frozen)
        if len(fires) > limit and fires[-1].at <= _looked_at_up_to(jobs):
            break
        skip += len(sheets)
    return Outlook(fires[:limit], is_complete=False, is_frozen=is_frozen)


def _fires(job: Job, since: float, until: float) -> Iterator[Fire]:
    """Its ticks that are to be run from then to then."""
    if job.next_due is None or job.backfill is not None:
        return
    tick: float | None = job.next_due if since <= job.next_due else last_tick(job.calendar, since)
    while tick is not None and (at := job.due_at(tick)) <= until:
        if at >= since and tick >= job.next_due:
            yield Fire(at, tick, job)
        tick = job.calendar.after(tick)


def _looked_at_up_to(jobs: Sequence[Job]) -> float:
    """No job has a tick before this that is not among these."""
    return max((moment for job in jobs if (moment := job.acts_at()) is not None), default=-inf)
