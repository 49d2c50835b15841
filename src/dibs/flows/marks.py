"""What a node has dealt with, should the store forget it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model import rota
from dibs.model.job import Record

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dibs.model.job import Job, Run
    from dibs.model.rota import Step

MOST_BEGUN = 20
"""So many runs of a job are remembered: what a store has forgotten was told to it in its last seconds."""


class Marks:
    """The last tick of each job that this node has dealt with, and what it has begun of it lately."""

    def __init__(self) -> None:
        self._through: dict[str, tuple[int, float]] = {}
        self._begun: dict[str, list[Run]] = {}

    @property
    def names(self) -> Sequence[str]:
        """The jobs of which there is something to tell."""
        return list({**self._through, **self._begun})

    def note_tick(self, job: Job, tick: float) -> None:
        """The store has let us deal with the job's ticks up to this one; unless it comes yet, by the store's clock."""
        if job.next_due is not None and tick >= job.next_due:
            return
        version, known = self._through.get(job.name, (job.version, tick))
        self._through[job.name] = job.version, max(tick, known) if version == job.version else tick

    def note_begun(self, name: str, run: Run) -> None:
        """It is begun now, and must not be again."""
        self._begun[name] = [*self._begun.get(name, ()), run][-MOST_BEGUN:]

    def remembered(self, job: Job) -> Job:
        """The job, with the ticks dealt with that we have dealt with."""
        return rota.raised(job, *self._through[job.name]) if job.name in self._through else job

    def reminded(self, job: Job, underway: Container[str], now: float) -> Step | None:
        """What a store is to be told that may have forgotten it; what is under way, it is told anyhow."""
        known, records = self.remembered(job), list[Record]()
        for run in self._begun.get(job.name, ()):
            if run.owner not in underway:
                step = rota.bygone(known, run, now=now)
                known, records = step.job, [*records, *step.records]
        return None if known == job else rota.Step(known, records)
