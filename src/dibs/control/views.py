"""A schedule as people look at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal

from dibs.control.errand import told, zone_of
from dibs.model.calendar.words import words

if TYPE_CHECKING:
    from dibs.flows.controlling import Standing
    from dibs.model.job import Job, Origin, Pause, Run
    from dibs.model.record import Source

UNSCHEDULED = "only when somebody triggers it"


@dataclass(frozen=True, slots=True)
class PauseView:
    """Who has said that nothing is to be run, when, why, and until when; `None` is until somebody says otherwise."""

    by: str
    at: datetime
    reason: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class PendingRun:
    """A run that has not ended."""

    tick: datetime
    attempt: int
    source: Source
    """Why there is a run: its tick came ("schedule", "outage"), or somebody asked for it ("trigger", "backfill")."""
    node: str
    """Who does it; nobody yet, if it waits."""
    begins_at: datetime
    """When it was begun; or, if it waits, before when it is not."""
    progress: float | None
    note: str
    cancelled_by: str
    """Why it was asked to stop, if it was."""


@dataclass(frozen=True, slots=True)
class BackfillView:
    """How far the last backfill of a schedule is."""

    next: datetime | None
    """The first tick that was not begun; `None` if all were, or it was stopped."""
    until: datetime
    """Its last tick."""
    parallel: int
    pending: tuple[PendingRun, ...]
    """What has not ended of what was begun."""
    by: str
    at: datetime
    reason: str

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.next is None and not self.pending


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A schedule as it stands. Times are in its own zone."""

    name: str
    job: str
    """The function that does it."""
    rule: str
    """When it is due, in a line: `"cron 0 3 * * * Europe/Berlin"`; empty if it has no schedule."""
    words: str
    """The same as a sentence."""
    arguments: Mapping[str, Any]
    labels: tuple[str, ...]
    """Which a node must have to run it."""
    next_due: datetime | None
    version: int
    """Counts the changes of when it is due."""
    origin: Origin
    """Where it was last said what it is: in "code", or as "data"."""
    defined_at: datetime
    paused: PauseView | None
    running: tuple[PendingRun, ...]
    waiting: tuple[PendingRun, ...]
    backfill: BackfillView | None
    gone: Literal["removed", "retired"] | None
    """Whether it is only here for its history."""


def schedule_view(standing: Standing) -> ScheduleView:
    """A job as the store has it, as it is shown."""
    job, zone = standing.job, zone_of(standing.job)
    return ScheduleView(
        job.name,
        job.done_by,
        job.rule,
        words(job.calendar) or UNSCHEDULED,
        json.loads(job.arguments or "{}"),
        job.terms.labels,
        None if job.next_due is None else told(job.next_due, zone),
        job.version,
        job.origin,
        told(job.defined_at, zone),
        pause_view(job.pause, zone) if job.pause is not None and job.is_paused(standing.now) else None,
        tuple(_pending(run, zone) for run in job.running),
        tuple(_pending(run, zone) for run in job.waiting),
        _backfill(standing.beside, zone) if standing.beside is not None else None,
        None if job.gone is None or job.gone.how == "ended" else job.gone.how,
    )


def pause_view(pause: Pause, zone: tzinfo = UTC) -> PauseView:
    """A pause as it is shown."""
    until = None if pause.until is None else told(pause.until, zone)
    return PauseView(pause.by, told(pause.at, zone), pause.reason, until)


def _backfill(beside: Job, zone: tzinfo) -> BackfillView | None:
    said = beside.backfill
    return (
        None
        if said is None
        else BackfillView(
            None if beside.next_due is None else told(beside.next_due, zone),
            told(said.until, zone),
            said.parallel,
            tuple(_pending(run, zone) for run in beside.runs),
            said.by,
            told(said.at, zone),
            said.reason,
        )
    )


def _pending(run: Run, zone: tzinfo) -> PendingRun:
    return PendingRun(
        told(run.tick, zone),
        run.attempt,
        run.source,
        run.node,
        told(run.started_at if run.is_running else run.not_before, zone),
        run.progress,
        run.note,
        run.cancelled_by,
    )
