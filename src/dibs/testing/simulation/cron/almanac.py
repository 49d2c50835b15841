"""Knows every tick that came, and what became of it.

C2 a tick is dealt with once, not before it has come by the store's clock, and nothing is silent: it has one last
record, or waits or runs on its sheet · C6 once nothing goes wrong any more, what is due is done soon, and no run of a
dead node outlasts its TTL.

Ticks of which the store has forgotten what became of them are nobody's to tell. Those that a new version of a schedule
leaves behind are told by who made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol

from dibs.flows.sheets import readable
from dibs.flows.shift import LOOK_EVERY
from dibs.model.job import Job
from dibs.model.record import Act, Record
from dibs.testing.simulation.cron.matter import SCHEDULED, Matter, matter_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from dibs.testing.simulation.cron.server import CronServer

SOON = LOOK_EVERY + 0.5
"""So late may be what is due where messages arrive."""


class Judge(Protocol):
    """Who is told of what is wrong, and counts what was seen."""

    counts: Counter[str]

    def fault(self, invariant: str, what: str) -> None:
        """A promise was broken."""
        ...


class Almanac:
    """The ticks of all jobs of a world."""

    def __init__(self, judge: Judge, server: CronServer, run_alone: Container[str]) -> None:
        self._judge, self._server, self.run_alone = judge, server, run_alone
        """Jobs that nodes run by their own clocks while the store is silent: they cannot know better."""
        self._ends: Counter[Matter] = Counter()
        self._dropped: set[Matter] = set()
        self._touched: dict[Matter, float] = {}
        self._forgotten: set[Matter] = set()
        self._freed_at: dict[str, float] = {}
        self._reached: dict[str, float] = {}
        self._anew_since: dict[str, float] = {}
        self.has_jumped_back = False
        self.clear_from = inf
        """From when on what is late is late by our own fault."""
        self.is_attended: Callable[[Job], bool] = lambda _: True
        """Whether there is a node that can do it."""

    def is_forgotten(self, matter: Matter) -> bool:
        """Whether the store has forgotten something of this."""
        return matter in self._forgotten

    def was_dealt_with(self, matter: Matter) -> bool:
        """Whether the store was ever told something of it, or all up to it were before the clock was set back."""
        was_reached = self.has_jumped_back and matter[1] < self._reached.get(matter[0], -inf)
        return was_reached or matter in self._touched

    def was_dropped(self, matter: Matter) -> bool:
        """Whether it was cancelled, as is noted, before it was begun."""
        return matter in self._dropped

    def ends(self, matter: Matter) -> int:
        """How many last records it has."""
        return self._ends[matter]

    def forgot(self, since: float) -> None:
        """The store knows nothing any more of what it was told since then."""
        self._forgotten |= {matter for matter, at in self._touched.items() if at >= since}

    def note_forgotten(self, matter: Matter) -> None:
        """Something of this was forgotten before it came to be."""
        self._forgotten.add(matter)

    def saw_change(self, old: Job | None, new: Job, records: Sequence[Record], acts: Sequence[Act]) -> None:
        """Hold one change against the law."""
        self._note_touched(old, new, records)
        for record in records:
            self._judge_record(new, record)
        self._judge_sheet(new)
        if acts:
            self._freed_at[new.name] = self._server.clock()
        if old is not None:
            self._judge_step(old, new, records, acts)
        if new.next_due is not None:
            self._reached[new.name] = max(new.next_due, self._reached.get(new.name, -inf))

    def _judge_sheet(self, job: Job) -> None:
        with_store = [matter_of(job, run) for run in job.runs if run.source != "outage"]
        for matter, count in Counter(with_store).items():
            if count > 1 and matter not in self._forgotten and not self.comes_again(matter):
                self._fault("C2", f"{job.name} {matter[1]:g} is on its sheet {count} times")

    def _judge_step(self, old: Job, new: Job, records: Sequence[Record], acts: Sequence[Act]) -> None:
        if old.rule != new.rule:
            self._begin_anew(new.name)
        told = {matter_of(new, record) for record in records} | {matter_of(new, run) for run in new.runs}
        skipped = {act.tick for act in acts if act.act == "skipped next"}
        for tick in _passed(old, new):
            if tick not in skipped:
                self._judge_passing(new, tick, is_told=(new.name, tick, SCHEDULED) in told)
        gone = {matter_of(old, run) for run in old.runs} - {matter_of(new, run) for run in new.runs}
        for _, tick, why in gone - {matter_of(new, record) for record in records if record.is_last}:
            self._fault("C2", f"{new.name} {tick:g} ({why}) is not to be run any more, and nothing says why")
        self._judge_lateness(old, new, records)

    def _begin_anew(self, name: str) -> None:
        """Ticks ahead come by another rule: also what was to be skipped, or came before the clock was set back."""
        now = self._server.clock()
        if self.has_jumped_back:
            self._anew_since[name] = min(now, self._anew_since.get(name, now))
        for matter in [each for each in self._ends if each[0] == name and each[1] > now]:
            del self._ends[matter]

    def comes_again(self, matter: Matter) -> bool:
        """Whether it is there once more by a clock that was set back: as a new rule has it, or somebody asks for it."""
        if matter[2] == "trigger":
            return self.has_jumped_back
        return matter[2] == SCHEDULED and matter[1] > self._anew_since.get(matter[0], inf)

    def _note_touched(self, old: Job | None, new: Job, records: Sequence[Record]) -> None:
        runs, known = set(new.runs), set(() if old is None else old.runs)
        touched = {matter_of(new, run) for run in runs ^ known} | {matter_of(new, record) for record in records}
        touched |= {(new.name, tick, SCHEDULED) for tick in (() if old is None else _passed(old, new))}
        self._touched.update(dict.fromkeys(touched, self._server.agenda.now))

    def _judge_record(self, job: Job, record: Record) -> None:
        matter = matter_of(job, record)
        self._ends[matter] += record.is_last
        if record.is_last and record.outcome == "cancelled" and not record.started_at:
            self._dropped.add(matter)
        if job.name in self.run_alone or matter in self._forgotten or self.comes_again(matter):
            return
        if self._ends[matter] > 1:
            self._fault("C2", f"{job.name} {record.tick:g} has ended twice, the second time {record.outcome}")
        if record.is_last and matter in {matter_of(job, run) for run in job.runs}:
            self._fault("C2", f"{job.name} {record.tick:g} has ended {record.outcome}, and is still to be run")

    def _judge_passing(self, job: Job, tick: float, *, is_told: bool) -> None:
        late = self._server.clock() - job.due_at(tick)
        if late < 0 and not self.has_jumped_back:
            self._fault("C2", f"{job.name} {tick:g} was dealt with {-late:.3f}s before it came")
        was_reached = self.has_jumped_back and tick < self._reached.get(job.name, -inf)  # before it was made anew
        if not is_told and not was_reached and (job.name, tick, SCHEDULED) not in self._forgotten:
            self._fault("C2", f"{job.name} {tick:g} came, and nothing says what became of it")
        self._judge_late(job, f"{tick:g} was dealt with", job.due_at(tick))

    def _judge_lateness(self, old: Job, new: Job, records: Sequence[Record]) -> None:
        lost = {matter_of(new, record) for record in records if record.outcome == "lost"}
        for run in old.running:
            if matter_of(old, run) in lost:
                self._judge_late(new, f"{run.tick:g} was found lost", run.expires_at)
        owners, ready = {run.owner for run in old.running}, {matter_of(old, run): run.not_before for run in old.waiting}
        if owners - {run.owner for run in new.running}:
            self._freed_at[new.name] = self._server.clock()
        for run in new.running:
            matter = matter_of(new, run)
            if run.owner not in owners and matter in ready:
                since = max(ready[matter], self._freed_at.get(new.name, -inf))
                self._judge_late(new, f"{run.tick:g} was begun", since)

    def _judge_late(self, job: Job, what: str, due_at: float) -> None:
        now = self._server.clock()
        late = now - max(due_at, now - (self._server.agenda.now - self.clear_from) * self._server.rate)
        if late > SOON and self.is_attended(job):
            self._fault("C6", f"{job.name} {what} {late:.3f}s late, though nothing went wrong")

    def judge_remains(self) -> None:
        """When all has been well for a while, nothing is overdue."""
        for job in readable(list(self._server.jobs.kept.values())):
            acts_at = job.acts_at()
            if acts_at is not None:
                since = max(acts_at, self._freed_at.get(job.name, -inf))
                self._judge_late(job, "is still to be looked at", since)

    def _fault(self, invariant: str, what: str) -> None:
        self._judge.fault(invariant, what)


def _passed(old: Job, new: Job) -> Iterator[float]:
    """The ticks that a change of the same version has dealt with."""
    tick = old.next_due if old.version == new.version and old.backfill is None else None
    while tick is not None and new.next_due is not None and tick < new.next_due:
        yield tick
        tick = old.calendar.after(tick)
