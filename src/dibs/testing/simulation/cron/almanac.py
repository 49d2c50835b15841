"""Knows every tick that came, and what became of it.

C2 a tick is dealt with once, not before it has come by the store's clock, and nothing is silent: it has one last
record, or waits or runs on its sheet · C6 once nothing goes wrong any more, what is due is done soon, and no run of a
dead node outlasts its TTL.

Ticks of which the store has forgotten what became of them are nobody's to tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol

from dibs.flows.shift import LOOK_EVERY
from dibs.model.job import Job, Record, job_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dibs.flows.duty import Duty
    from dibs.testing.simulation.cron.server import CronServer

SOON = LOOK_EVERY + 0.5
"""So late may be what is due where messages arrive."""


class Judge(Protocol):
    """Who is told of what is wrong."""

    def fault(self, invariant: str, what: str) -> None:
        """A promise was broken."""
        ...


class Almanac:
    """The ticks of all jobs of a world."""

    def __init__(self, judge: Judge, server: CronServer, duties: Mapping[str, Duty]) -> None:
        self._judge, self._server, self._duties = judge, server, duties
        self._last_records: Counter[tuple[str, float]] = Counter()
        self._touched: list[tuple[float, str, float]] = []
        self._forgotten: set[tuple[str, float]] = set()
        self._freed_at: dict[str, float] = {}
        self._reached: dict[str, float] = {}
        self.has_jumped_back = False
        self.clear_from = inf
        """From when on what is late is late by our own fault."""

    def is_forgotten(self, job: str, tick: float) -> bool:
        """Whether the store has forgotten something of this tick."""
        return (job, tick) in self._forgotten

    def forgot(self, since: float) -> None:
        """The store knows nothing any more of what it was told since then."""
        self._forgotten |= {(job, tick) for at, job, tick in self._touched if at >= since}

    def saw_change(self, old: Job | None, new: Job, records: Sequence[Record]) -> None:
        """Hold one change against the law."""
        self._note_touched(old, new, records)
        for record in records:
            self._judge_record(new, record)
        if old is None:
            return
        told = {record.tick for record in records} | {run.tick for run in new.runs}
        for tick in _passed(old, new):
            self._judge_passing(new, tick, is_told=tick in told)
        gone = {run.tick for run in old.runs} - {run.tick for run in new.runs}
        for tick in gone - {record.tick for record in records if record.is_last}:
            self._fault("C2", f"{new.name} {tick:g} is not to be run any more, and nothing says why")
        self._judge_lateness(old, new, records)
        if new.next_due is not None:
            self._reached[new.name] = max(new.next_due, self._reached.get(new.name, -inf))

    def _note_touched(self, old: Job | None, new: Job, records: Sequence[Record]) -> None:
        runs, known = set(new.runs), set(() if old is None else old.runs)
        ticks = {run.tick for run in runs ^ known} | {record.tick for record in records}
        ticks |= set(() if old is None else _passed(old, new))
        self._touched += [(self._server.agenda.now, new.name, tick) for tick in ticks]

    def _judge_record(self, job: Job, record: Record) -> None:
        key = job.name, record.tick
        self._last_records[key] += record.is_last
        if self._is_open(job) or key in self._forgotten:
            return
        if self._last_records[key] > 1:
            self._fault("C2", f"{job.name} {record.tick:g} has ended twice, the second time {record.outcome}")
        if record.is_last and record.tick in {run.tick for run in job.runs}:
            self._fault("C2", f"{job.name} {record.tick:g} has ended {record.outcome}, and is still to be run")

    def _judge_passing(self, job: Job, tick: float, *, is_told: bool) -> None:
        late = self._server.clock() - job.due_at(tick)
        if late < 0 and not self.has_jumped_back:
            self._fault("C2", f"{job.name} {tick:g} was dealt with {-late:.3f}s before it came")
        was_reached = self.has_jumped_back and tick < self._reached.get(job.name, -inf)  # before it was made anew
        if not is_told and not was_reached and (job.name, tick) not in self._forgotten:
            self._fault("C2", f"{job.name} {tick:g} came, and nothing says what became of it")
        self._judge_late(f"{job.name} {tick:g} was dealt with", job.due_at(tick))

    def _judge_lateness(self, old: Job, new: Job, records: Sequence[Record]) -> None:
        for run in old.running:
            if (run.tick, "lost") in {(record.tick, record.outcome) for record in records}:
                self._judge_late(f"{new.name} {run.tick:g} was found lost", run.expires_at)
        if len(new.running) < len(old.running):
            self._freed_at[new.name] = self._server.clock()
        owners, ready = {run.owner for run in old.running}, {run.tick: run.not_before for run in old.waiting}
        for run in new.running:
            if run.owner not in owners and run.tick in ready:
                self._judge_late(
                    f"{new.name} {run.tick:g} was begun", max(ready[run.tick], self._freed_at.get(new.name, -inf))
                )

    def _judge_late(self, what: str, due_at: float) -> None:
        now = self._server.clock()
        late = now - max(due_at, now - (self._server.agenda.now - self.clear_from) * self._server.rate)
        if late > SOON:
            self._fault("C6", f"{what} {late:.3f}s late, though nothing went wrong")

    def judge_remains(self) -> None:
        """When all has been well for a while, nothing is overdue."""
        for sheet in self._server.jobs.kept.values():
            job = job_of(sheet)
            acts_at = job.acts_at()
            if acts_at is not None:
                since = max(acts_at, self._freed_at.get(job.name, -inf))
                self._judge_late(f"{job.name} is still to be looked at", since)
        for name in self._duties.keys() - self._server.jobs.kept.keys():
            self._fault("C2", f"nobody knows of {name} any more")

    def _is_open(self, job: Job) -> bool:
        return self._duties[job.name].on_outage == "open"

    def _fault(self, invariant: str, what: str) -> None:
        self._judge.fault(invariant, what)


def _passed(old: Job, new: Job) -> Iterator[float]:
    """The ticks that a change has dealt with."""
    tick = old.next_due
    while tick is not None and new.next_due is not None and tick < new.next_due:
        yield tick
        tick = old.calendar.after(tick)
