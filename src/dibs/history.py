"""What became of a job's runs, as people look at it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from dibs.model.job import Record, record_of

if TYPE_CHECKING:
    from dibs.model.job import Outcome, Source


@dataclass(frozen=True, slots=True)
class RunView:
    """What became of one attempt, or of a tick for which there was none. Times are in the schedule's zone."""

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
    """Whether the store told of the tick ("schedule"), or a node's own clock while it was silent ("outage")."""
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


def run_view(job: str, text: str, zone: tzinfo) -> RunView:
    """A line of the history as it is shown."""
    record = record_of(text)
    return RunView(
        job,
        datetime.fromtimestamp(record.tick, zone),
        record.outcome,
        record.reason,
        record.attempt,
        record.is_last,
        record.source,
        record.node,
        record.fence if record.fence and record.source == "schedule" else None,
        *_span(record, zone),
        record.lateness,
        record.duration,
        None if record.result is None else json.loads(record.result),
        record.error,
        record.progress,
        record.note,
        record.log,
    )


def _span(record: Record, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    if not record.started_at:
        return None, None
    return datetime.fromtimestamp(record.started_at, zone), datetime.fromtimestamp(record.ended_at, zone)
