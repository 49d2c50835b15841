"""What a node has dealt with, should the store forget it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dibs.model import reminders
from dibs.model.record import Record
from dibs.model.rota import Step

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dibs.model.job import Job, Run

MOST_BEGUN = 20
"""So many runs of a job are remembered: what a store has forgotten was told to it in its last seconds."""
MOST_JOBS = 100_000
"""Of so many jobs, those last dealt with: schedules come and go, and a node may live for years."""

T = TypeVar("T")


class Marks:
    """The last tick of each job that this node has dealt with, and what it has begun of it lately."""

    def __init__(self) -> None:
        self._through: dict[str, tuple[tuple[int, float], float]] = {}
        self._begun: dict[str, list[Run]] = {}

    @property
    def names(self) -> Sequence[str]:
        """The jobs of which there is something to tell."""
        return list({**self._through, **self._begun})

    def note_tick(self, job: Job, tick: float, *, now: float) -> None:
        """The store has let us deal with the job's ticks up to this one; unless it comes yet, by the store's clock.

        Of a job that is paused its sheet does not say which have come.
        """
        if tick > now or (job.next_due is not None and tick >= job.next_due):
            return
        of, known = self._through.get(job.name, (_of(job), tick))
        _keep(self._through, job.name, (_of(job), max(tick, known) if of == _of(job) else tick))

    def note_begun(self, name: str, run: Run) -> None:
        """It is begun now, and must not be again."""
        _keep(self._begun, name, [*self._begun.get(name, ()), run][-MOST_BEGUN:])

    def remembered(self, job: Job) -> Job:
        """The job, with the ticks dealt with that we have dealt with."""
        of, tick = self._through.get(job.name, (None, 0.0))
        return reminders.raised(job, job.version, tick) if of == _of(job) else job

    def reminded(self, job: Job, underway: Container[str], now: float) -> Step | None:
        """What a store is to be told that may have forgotten it; what is under way, it is told anyhow."""
        known, records = self.remembered(job), list[Record]()
        for run in self._begun.get(job.name, ()):
            if run.owner not in underway and not _is_of_another(job, run):
                step = reminders.bygone(known, run, now=now)
                known, records = step.job, [*records, *step.records]
        return None if known == job else Step(known, records)


def _keep(known: dict[str, T], name: str, what: T) -> None:
    """As the latest of all; the oldest goes when there are too many."""
    known.pop(name, None)
    known[name] = what
    if len(known) > MOST_JOBS:
        del known[next(iter(known))]


def _of(job: Job) -> tuple[int, float]:
    """Of which version we know something, and of which backfill: a store that forgot one may count another like it."""
    return job.version, _begun_at(job)


def _is_of_another(job: Job, run: Run) -> bool:
    """Whether it was begun for a backfill before this one."""
    return run.started_at < _begun_at(job)


def _begun_at(job: Job) -> float:
    return 0.0 if job.backfill is None else job.backfill.at
