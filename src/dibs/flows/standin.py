"""Ticks by a node's own clock while the store is silent, for jobs that want it so; afterwards the store is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from dibs import events
from dibs.flows.duty import Crew, Duty, Underway
from dibs.flows.sheets import look
from dibs.model.calendar.text import rule_of
from dibs.model.job import Job, Run
from dibs.model.record import Record
from dibs.model.reminders import adopted, passed
from dibs.model.sheet import Change
from dibs.model.tenure import Tenure
from dibs.model.ticks import ticks_come

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.job import Pause
    from dibs.model.policy import OnOutageOfJob
    from dibs.model.rota import Step
    from dibs.ports.world import World


class StandIn:
    """What one node does in place of the store, and has to tell it of."""

    def __init__(self, world: World, desk: Desk, duties: Mapping[str, Duty], crew: Crew) -> None:
        self._world, self._desk, self._crew = world, desk, crew
        self._duties = [duty for duty in duties.values() if duty.rule and duty.on_outage in {"open", "local"}]
        self._through: dict[str, float] = {}
        self._known: dict[str, Job] = {}
        self.freeze: Pause | None = None
        """Whether the whole fleet was frozen when the store was last heard."""
        self.untold: dict[str, list[Record]] = {}
        """Ticks that were not run, of which the store does not know yet, by job."""

    async def ticks(self, since: float, now: float, *, busy_with: Sequence[str], why: str) -> Sequence[Underway]:
        """The runs of ticks that have come since then by our clock."""
        begun: list[Underway] = []
        if self.freeze is not None and self.freeze.holds(now):
            return begun
        for duty in self._duties:
            job = self._standing(duty, max(since, self._through.get(duty.name, since)))
            for come in ticks_come(job, now):
                self._through[duty.name] = come.tick
                if come.missed:
                    self._note(duty.name, Record(come.tick, "missed", now, come.missed, source="outage"))
                elif duty.name in busy_with and job.terms.overlap != "allow":
                    reason = f"the run before it had not ended on {self._crew.node}"
                    self._note(
                        duty.name, Record(come.tick, "skipped", now, reason, source="outage", node=self._crew.node)
                    )
                elif duty.on_outage == "open" or await self._crew.first_here(duty.name, come.tick):
                    self._desk.tell(events.PolicyUsed(duty.name, duty.on_outage, why))
                    begun.append(self._begun(job, duty.on_outage, come.tick, now))
        return begun

    @property
    def names(self) -> Sequence[str]:
        """The jobs that it runs without the store, if it must."""
        return [duty.name for duty in self._duties]

    def note(self, jobs: Iterable[Job]) -> None:
        """These are the jobs as the store knows them: paused, changed, removed."""
        self._known.update({job.name: job for job in jobs})

    def _standing(self, duty: Duty, after: float) -> Job:
        """The job as it was last seen, with its first tick after that moment."""
        known = self._known.get(duty.name)
        if known is None:
            return Job(duty.name, 0, 1, duty.rule, duty.terms, rule_of(duty.rule).after(after))
        due = known.due_from(after)
        if due is not None and known.next_due is not None:
            due = max(due, known.next_due)
        return replace(known, runs=(), next_due=None if known.next_due is None else due)

    def leave_out(self, name: str, tick: float) -> None:
        """The store has let us deal with a job's ticks up to this one."""
        if name in self.names:
            self._through[name] = max(tick, self._through.get(name, tick))

    def told(self, name: str, job: Job | None, now: float, begun: Sequence[Underway]) -> Step | None:
        """What the store is to be told of one job: ticks that were not run, and what was begun without it."""
        if job is None:
            return None
        ticks = [mine.run.tick for mine in begun if mine.run.has_tick]
        step = passed(job, self.untold.get(name, ()), run=ticks, now=now)
        for mine in begun:
            step = replace(step, job=adopted(step.job, mine.run, now=now, ttl=mine.terms.ttl))
        return step

    def _note(self, name: str, record: Record) -> None:
        self.untold.setdefault(name, []).append(record)

    def _begun(self, job: Job, policy: OnOutageOfJob, tick: float, now: float) -> Underway:
        run = Run(tick, source="outage", owner=self._world.token(), node=self._crew.node, started_at=now)
        here = self._world.now()
        mine = Underway(job.name, run, job.terms, Tenure(inf, here), begun_at=here, policy=policy, is_loose=True)
        mine.function, mine.arguments, mine.rule = job.done_by, job.arguments, job.rule
        return mine


async def first_here(world: World, desk: Desk, name: str, tick: float) -> bool:
    """Whether nobody else who asks this store has had this tick of a job, nor a later one."""
    reading = await look(world, desk, desk.store.sheets([name]))
    known = reading.look.sheets[0] if reading.look.sheets else None
    if known is not None and float(known.text) >= tick:
        return False
    change = Change(name, known.revision if known else 0, repr(tick), None, earliest=-inf, not_after=inf)
    [revision] = await world.ask(desk.store.amend([replace(change, seen=desk.seen_fence)]), desk.patience)
    return bool(revision)
