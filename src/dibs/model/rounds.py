"""A worker's rounds: work that many stand ready for, tried by one after the other until it is done, or given up.

Under the name of its lock a sheet is kept that is a job's (`dibs.model.job`): its version is the number of the round,
its one run is the attempt. A round whose run is gone is over; what happens to an attempt is `dibs.model.rota`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Literal

from dibs.model import rota
from dibs.model.job import Gone, Job, Run, Terms
from dibs.model.names import WORKER
from dibs.model.record import RAN
from dibs.model.rota import Ending, Step
from dibs.model.sheet import Entry
from dibs.model.value import value

Finish = Literal["done", "completed", "max-attempts"]
"""How a round ended for one worker: done by itself, or by another one, or given up after so many attempts."""


class StatusLevel(IntEnum):
    """How much a worker tells."""

    NORMAL = 1
    """What comes of the attempts."""
    VERBOSE = 2
    """Each step on the way, too."""
    Normal = NORMAL
    Verbose = VERBOSE


@value
class Aim:
    """Which round a worker is in for, and how many attempts of it it knows of."""

    round: int
    attempt: int = 0


def sheet_of(key: str) -> str:
    """The name of the sheet of a worker's lock."""
    return WORKER + key


def aim(job: Job | None) -> Aim:
    """What one who comes now is in for: the round that is open, else the next."""
    if job is None:
        return Aim(1)
    return Aim(job.version, attempts(job)) if job.runs else Aim(job.version + 1)


def attempts(job: Job) -> int:
    """How many attempts of its open round have been begun."""
    return sum(run.attempt if run.is_running else run.attempt - 1 for run in job.runs)


def is_over(job: Job | None, aimed: Aim) -> bool:
    """Whether the round is over that this one was in for."""
    if job is None:
        return False
    return job.version > aimed.round or (job.version == aimed.round and not job.runs)


def finish(job: Job) -> Finish:
    """How its last round ended, for whoever has not done it."""
    return "max-attempts" if job.gone is not None and job.gone.how == "retired" else "completed"


def entered(job: Job | None, aimed: Aim, *, key: str, max_attempts: int, now: float) -> Job:
    """The sheet with the round open that this one is in for; one that is open has the terms of who opened it."""
    if job is not None and job.runs:
        return job
    terms = Terms(retries=max_attempts - 1, retry_delay=0.0, max_attempts=max_attempts, ttl=0.0)
    run = Run(now, source="worker", not_before=now)
    return Job(sheet_of(key), 0 if job is None else job.revision, aimed.round, "", terms, None, runs=(run,))


def begun(job: Job, *, now: float, owner: str, node: str, fence: int) -> Step:
    """The next attempt, by the one that has the lock: whoever had it before is dead, and its attempt is lost.

    If that was the last one, none is begun, and the round is over.
    """
    ready = replace(job, runs=tuple(replace(run, not_before=0.0, expires_at=0.0) for run in job.runs))
    step = rota.advanced(ready, now=now, owner=owner, node=node)
    if step.begun is None:
        return _given_up(step, now)
    run = replace(step.begun, fence=fence)
    return replace(step, job=step.job.with_run(step.begun, run), begun=run)


def settled(job: Job, owner: str, ending: Ending, *, now: float) -> Step | None:
    """An attempt that has ended; `None` if it is not that owner's any more. All attempts count, failed or lost."""
    counted = replace(job, runs=tuple(replace(run, failures=run.attempt - 1) for run in job.runs))
    step = rota.settled(counted, owner, ending, now=now)
    if step is None or step.job.runs or ending.outcome == "ok":
        return step
    return _given_up(step, now)


def seen(job: Job, *, now: float) -> Step:
    """The first of those that watched has seen that the work is done."""
    return Step(replace(job, gone=Gone("removed", now)))


def _given_up(step: Step, now: float) -> Step:
    return replace(step, job=replace(step.job, gone=Gone("retired", now)))


def entries(step: Step) -> Sequence[Entry]:
    """What is noted of a round, under the name of the lock. Who held that when, the lock's own history tells."""
    job = step.job
    noted = [replace(each, version=job.version).entry(job.name, job.belongs_to) for each in step.records]
    return [replace(entry, tags=tuple(tag for tag in entry.tags if not tag.startswith(RAN))) for entry in noted]
