"""What is to be dealt with once: a tick of a job, or what somebody has asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.model.job import Job, Run
    from dibs.model.record import Record

Matter = tuple[str, float, str]
"""Of which sheet, for which moment, and why: by its schedule, as it was asked for, or by which backfill."""
SCHEDULED = "schedule"


def matter_of(job: Job, told: Run | Record) -> Matter:
    """What a run or a record is about. A tick that came while the store was silent is still that tick."""
    why = SCHEDULED if told.source == "outage" else told.source
    if job.backfill is not None:
        why = f"{why} {job.backfill.at!r}"
    return job.name, told.tick, why
