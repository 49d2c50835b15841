"""Watches the steps that clients hand to the fleet.

C12 a step that the store took is there, to be done, being done or over, until it was kept for as long as it is to be;
once it is over it is not begun again; and it is taken away from a node only if that has not stopped it in time.

That it is done by one at a time, with fences that rise, and ends once, is as with every run (C1 to C5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dibs.model.job import LEEWAY, Job, Run
from dibs.model.names import STEP
from dibs.model.reading import job_of
from dibs.model.rota import unstopped
from dibs.testing.simulation.cron.matter import matter_of

if TYPE_CHECKING:
    from dibs.model.record import Record
    from dibs.model.sheet import Sheet
    from dibs.testing.simulation.cron.almanac import Almanac, Judge
    from dibs.testing.simulation.cron.server import CronServer


class Usher:
    """Knows which steps there have to be."""

    def __init__(self, judge: Judge, server: CronServer, almanac: Almanac) -> None:
        self._judge, self._server, self._almanac = judge, server, almanac
        self._owed: dict[str, float] = {}
        """When the store was told of each that it has to know."""
        self._seen: set[str] = set()

    def acknowledged(self, sheet: str) -> None:
        """A client was told that the store has it."""
        self._judge.counts["steps acknowledged"] += 1
        if sheet not in self._seen:
            self._judge.fault("C12", f"a client was told that {sheet} is submitted, and the store never had it")

    def forgot(self, since: float) -> None:
        """The store knows nothing any more of what it was told since then."""
        self._owed = {sheet: at for sheet, at in self._owed.items() if at < since or sheet in self._kept()}

    def saw_change(self, before: Sheet | None, after: Sheet | None) -> None:
        """Hold one change of a step against the law."""
        if after is not None and STEP in after.name:
            self._seen.add(after.name)
            self._owed.setdefault(after.name, self._server.agenda.now)
            self._judge_step(None if before is None else job_of(before), job_of(after))
        if after is None and before is not None and STEP in before.name:
            self._judge_end(job_of(before))

    def _judge_step(self, old: Job | None, new: Job) -> None:
        self._judge.counts["steps done"] += old is not None and bool(old.runs) and not new.runs
        if not new.runs and (new.gone is None or new.last is None or not new.last.is_last):
            self._fault(f"{new.name} is not to be done any more, and did not end")
        is_over = new.gone is not None or (old is not None and not old.runs)
        if is_over and any(not self._almanac.is_forgotten(matter_of(new, run)) for run in new.runs):
            self._fault(f"{new.name} is over, and is to be done again")

    def _judge_end(self, job: Job) -> None:
        """It is thrown away."""
        self._judge.counts["steps thrown away"] += 1
        self._owed.pop(job.name, None)
        now = self._server.clock()
        if job.runs or job.gone is None or now < job.gone.at + job.terms.keep_for:
            self._fault(f"{job.name} was thrown away at {now:g} before its time: {job.gone}")

    def may_be_taken(self, job: Job, run: Run, record: Record) -> bool:
        """Whether this says that a step was taken away from its node; it may be only after its time."""
        timeout = job.terms.timeout
        if not job.is_step or timeout is None or record.reason != unstopped(timeout):
            return False
        self._judge.counts["steps taken away"] += 1
        if self._server.clock() < run.started_at + timeout + LEEWAY:
            self._fault(f"{job.name} was taken from {run.owner} at {self._server.clock():g}, before its time")
        return True

    def judge_remains(self) -> None:
        """When all has been well for a while."""
        for sheet in self._owed.keys() - self._kept().keys():
            self._fault(f"{sheet} was submitted, and nobody knows of it any more")

    def _kept(self) -> Mapping[str, Sheet]:
        return self._server.jobs.kept

    def _fault(self, what: str) -> None:
        self._judge.fault("C12", what)
