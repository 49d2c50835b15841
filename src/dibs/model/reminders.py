"""What a node tells a store that does not know it, or not any more: what it has dealt with, begun, and run alone.

Such a word never lowers what the store knows, and what another node was given meanwhile stays its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.model.record import Record
from dibs.model.rota import Step, concluded, recorded
from dibs.model.ticks import ticks_come

if TYPE_CHECKING:
    from dibs.model.job import Job, Run

FORGOTTEN = "the store was started anew, and has forgotten what came of it"
OVERTAKEN = "the store was silent, and a later one was run without it"


# What a store has forgotten.


def raised(job: Job, version: int, tick: float) -> Job:
    """The job of a store that may have forgotten, in which this tick of this version was dealt with. Never lowers."""
    if job.version != version or job.next_due is None or job.next_due > tick:
        return job
    return replace(job, next_due=job.following(tick))


def bygone(job: Job, run: Run, *, now: float) -> Step:
    """The job of a store that may have forgotten that this attempt was begun, and ended: it is not begun again."""
    forgotten = _before(job, run)
    if not forgotten:
        return Step(job)
    known = replace(job, runs=tuple(each for each in job.runs if each not in forgotten))
    return concluded(Step(known, [recorded(run, "lost", now, FORGOTTEN)]), now)


# What a node has done by its own clock while the store was silent.


def adopted(job: Job, run: Run, *, now: float, ttl: float) -> Job:
    """A run of which the store knows nothing, or nothing any more: leased from now on, and its tick is dealt with.

    Unless another node was given it meanwhile.
    """
    if (known := job.run_of(run.owner)) is not None:  # we have told it before, and were not answered
        return job.with_run(known, replace(known, expires_at=now + ttl))
    if _is_taken_over(job, run):
        return job
    stale = _before(job, run)
    others = tuple(each for each in job.runs if each not in stale)
    leased = replace(run, expires_at=now + ttl)
    adopted = replace(job, runs=(*others, leased))
    return raised(adopted, job.version, run.tick) if run.has_tick and job.due_at(run.tick) <= now else adopted


def passed(job: Job, records: Sequence[Record], *, run: Collection[float] = (), now: float) -> Step:
    """Ticks that were not run then are noted, and those that nobody tells of though a later one was dealt with.

    What has not come yet by the store's clock does: somebody's own clock was ahead of it.
    """

    def is_new(tick: float) -> bool:
        return job.next_due is not None and tick >= job.next_due and job.due_at(tick) <= now

    new = [record for record in records if is_new(record.tick)]
    ticks = {record.tick for record in new} | {tick for tick in run if is_new(tick)}
    if not ticks:
        return Step(job)
    silent = [come for come in ticks_come(job, job.due_at(max(ticks))) if come.tick not in ticks]
    between = [
        Record(come.tick, "missed", now, come.missed or OVERTAKEN, source="outage", since=come.since) for come in silent
    ]
    return Step(raised(job, job.version, max(ticks)), [*between, *new])


# What these are made of.


def _is_taken_over(job: Job, run: Run) -> bool:
    is_ours = [each for each in job.runs if (each.tick, each.source) == (run.tick, run.source)]
    others = [each for each in is_ours if each.owner != run.owner]
    return run.source != "outage" and any(each.attempt > run.attempt or each.fence > run.fence for each in others)


def _before(job: Job, run: Run) -> Sequence[Run]:
    """Runs of the same tick that cannot be any more, as this one was begun."""
    same = [each for each in job.runs if each.tick == run.tick and each.has_tick == run.has_tick]
    same = [each for each in same if each.owner != run.owner]
    if run.source == "outage" and run.attempt == 1:
        return [each for each in same if not each.is_running]
    older = [each for each in same if each.source == run.source and each.fence < run.fence]
    return [each for each in older if each.attempt <= run.attempt]
