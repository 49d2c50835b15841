"""What became of runs, how long they took, and who did what, as people look at it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from dibs.model.fleet import FLEET
from dibs.model.job import belongs_to
from dibs.model.record import Record
from dibs.model.steps import step_of
from dibs.questions.pages import shown

if TYPE_CHECKING:
    from dibs.model.record import Act, Deed, Outcome, Source
    from dibs.model.timings import Spread


@dataclass(frozen=True, slots=True)
class RunView:
    """What became of one attempt, or of a tick for which there was none.

    Times are in the schedule's zone where a job tells of itself, and in UTC where all are asked for.
    """

    job: str
    tick: datetime
    outcome: Outcome
    """ok, failed, timeout, lost, cancelled, skipped or missed."""
    reason: str
    """Why, where there is something to say."""
    attempt: int
    is_last: bool
    """Whether this is the end of it; else another attempt follows."""
    source: Source
    """Who told of it: the store ("schedule"), a node's own clock while that was silent ("outage"), or people,
    by asking for it ("trigger"), for a time past ("backfill"), for one piece of work ("step"); or a worker ("worker").
    """
    node: str
    fence: int | None
    """`None` if nobody ran it, or it was begun without the store."""
    started_at: datetime | None
    ended_at: datetime | None
    lateness: float
    """By how many seconds it was begun after its tick."""
    duration: float
    result: Any
    """What it returned, as JSON keeps it; what has no such form, or is too long, as text."""
    error: str | None
    """What it raised: type and words first, then the way there."""
    progress: float | None
    note: str
    log: tuple[str, ...]
    """The last lines of `run.log`."""
    step: str | None = None
    """Which step of the job it was, by its id, if it was one."""


@dataclass(frozen=True, slots=True)
class ActView:
    """What somebody has done, when, and why. Times are in UTC."""

    job: str | None
    """To which job; `None` if it was done to the whole fleet."""
    act: Deed
    """added, changed, removed, retired, paused, resumed, triggered, submitted, skipped next, cancelled, backfill,
    frozen, thawed; and where it explains something: silent (the store, for its node) and unattended (nobody was there).
    """
    at: datetime
    by: str
    """Who: as they said, or the process that did it."""
    reason: str
    since: datetime | None
    until: datetime | None
    """From when to when it holds, where that was said."""
    tick: datetime | None
    """Of which tick, if it is about one."""
    version: int
    """Of the schedule, from then on."""
    told: str
    """What it is from then on (of what was removed: what it was), such as the rule."""


@dataclass(frozen=True, slots=True)
class Timings:
    """How late runs were begun and how long they took, in seconds."""

    runs: int
    """Of so many it is told: the latest of the time that was asked for."""
    since: datetime | None
    until: datetime | None
    """The ticks of the first and the last of them."""
    lateness: Spread | None
    """Of first attempts, and not of backfills. `None` if there was none."""
    duration: Spread | None
    is_complete: bool
    """Whether that is all of that time."""


def run_view(job: str, record: Record, zone: tzinfo = UTC) -> RunView:
    """A line of the history as it is shown."""
    return RunView(
        belongs_to(job),
        datetime.fromtimestamp(record.tick, zone),
        record.outcome,
        record.reason,
        record.attempt,
        record.is_last,
        record.source,
        record.node,
        record.fence if record.fence and record.source != "outage" else None,
        *_span(record, zone),
        record.lateness,
        record.duration,
        None if record.result is None else json.loads(record.result),
        record.error,
        record.progress,
        record.note,
        record.log,
        step_of(job),
    )


def act_view(sheet: str, act: Act) -> ActView:
    """The same of what was done."""
    return ActView(
        None if sheet == FLEET else belongs_to(sheet),
        act.act,
        datetime.fromtimestamp(act.at, UTC),
        act.by,
        act.reason,
        shown(act.since),
        shown(act.until),
        shown(act.tick),
        act.version,
        act.told,
    )


def _span(record: Record, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    if not record.started_at:
        return None, None
    return datetime.fromtimestamp(record.started_at, zone), datetime.fromtimestamp(record.ended_at, zone)
