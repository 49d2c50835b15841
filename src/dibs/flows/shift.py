"""One node's part in running the jobs of its fleet: rounds of telling how its runs are, and claiming what is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING
from zlib import crc32

from dibs import events
from dibs.errors import StoreUnreachable
from dibs.flows.bearings import Bearings
from dibs.flows.charge import Charge
from dibs.flows.chores import chores_due, do_chores
from dibs.flows.doubts import Doubts
from dibs.flows.duty import NOT_RENEWED, Crew, Duty, Underway
from dibs.flows.marks import Marks
from dibs.flows.muster import Muster
from dibs.flows.sheets import MOST_AT_ONCE, Reading, Taken, amend, look, readable, rewrite_all
from dibs.flows.standin import StandIn
from dibs.model import rota
from dibs.model.chores import TIDYING, Chore, chore
from dibs.model.fleet import FLEET
from dibs.model.job import LEEWAY
from dibs.model.rota import Step
from dibs.model.tenure import Tenure

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.job import Job, Run
    from dibs.model.sheet import Look, Sheet
    from dibs.ports.world import World

LOOK_EVERY = 0.5
"""A node looks at least so often, in seconds."""
RETRY, PROBE = 0.25, 0.5
"""How soon a store that is silent is asked again, and how long it is waited for then."""
REUNION = 2 * (PROBE + RETRY)
"""By then all who have asked a silent store again and again have heard of it, and told what they ran without it."""


class Shift:
    """One node at work, with the crew that does what it claims."""

    def __init__(self, world: World, desk: Desk, duties: Mapping[str, Duty], crew: Crew) -> None:
        self._world, self._desk, self._duties, self._crew = world, desk, duties, crew
        self.charge = Charge(world, desk, crew.node, self._heed)
        self.is_leaving = False
        self._stand_in = StandIn(world, desk, duties, crew)
        self._muster = Muster(world, desk, duties, crew)
        self._bearings = Bearings()
        self._covered = crew.wall()
        """Up to here ticks have been dealt with, or others have them, as far as the store has told us."""
        self._silent_since: float | None = None
        self._reunited_at = 0.0
        self._heartbeat = max((duty.terms.ttl for duty in duties.values()), default=LOOK_EVERY) / 3
        self._marks, self._minded_at = Marks(), -inf
        self._is_reminded = True
        """Whether the store was told what it may not know any more, since it last may have forgotten."""
        self._unread: dict[str, int] = {}
        """Sheets that are nobody's here, of which we have told: at which revision."""
        self._doubts = Doubts(world, desk)

    async def round(self) -> float:
        """Do what is to be done now; gives in how many seconds there may be more. Outlasts a store that is silent."""
        began = self._world.now()
        try:
            wait = await self._round()
        except StoreUnreachable as silence:
            wait = await self._bear(silence)
        else:
            self._note_answer()
            wait = min(wait, self.charge.rests())
        self.charge.watch()
        self._muster.note_round(self._world.now() - began)
        return wait

    async def retire(self) -> None:
        """Hand back or give up what has not ended."""
        self.is_leaving = True
        await self._doubts.settle()
        await self._tell_of_outage()
        await self.charge.hand_back()
        await self._muster.retire()

    async def _round(self) -> float:
        if self._silent_since is not None:  # who goes by its own clock meanwhile must not wait long
            await self._world.ask(self._desk.store.time(), PROBE)
            self._reunited_at = self._world.now() + REUNION
        if not self._is_reminded:
            await self._remind()
        await self._doubts.settle()
        await self._tell_of_outage()
        await self.charge.report()
        if self.is_leaving:
            return LOOK_EVERY
        await self._muster.report([mine.job for mine in self.charge.underway.values()])
        await self._keep_in_mind()
        return await self._claim()

    # What is due.

    async def _claim(self) -> float:
        """Claim what is due, as far as there is room; gives in how many seconds there may be more."""
        skip = 0
        while True:
            reading = await look(self._world, self._desk, self._desk.store.due(skip, MOST_AT_ONCE))
            pause = await self._paused(reading)
            self._stand_in.freeze = await self._muster.heed(reading)  # also now: the store may be silent next
            if pause > 0 or self._stand_in.freeze is not None:
                return min(pause, LOOK_EVERY) if pause > 0 else LOOK_EVERY
            did = await self._do_chores(reading, skip)  # first: however much is new, nothing is put off for ever
            if await self._take(reading, self._steps(reading)) or did:
                return 0.0
            self._covered = reading.look.now
            if len(reading.look.sheets) < MOST_AT_ONCE or not self._crew.room():
                next_at = reading.look.next_at
                return LOOK_EVERY if next_at is None else min(next_at - reading.look.now, LOOK_EVERY)
            skip += len(reading.look.sheets)  # others' jobs, all of them

    def _steps(self, reading: Reading, kind: Chore | None = None) -> Sequence[Step]:
        """What is to be done about the jobs that are due: as many of ours as there is room for; or chores of a kind."""
        steps, room, now = list[Step](), self._crew.room(), reading.look.now
        for job in readable(self._in_our_order(reading.look.sheets), unread=self._tell_unread):
            if room <= 0 and kind not in TIDYING:
                break
            if chore(job, now) != kind:
                continue
            step = rota.tidied(job, now=now) if kind in TIDYING else self._step(job, now)
            if step is not None:
                room -= step.begun is not None
                steps.append(step)
        return steps

    def _step(self, job: Job, now: float) -> Step | None:
        """What is to be done about one: if it is ours, or nobody can do it."""
        if not self._is_ours(job):
            why = self._muster.fleet.lacks(job)
            return rota.unattended(job, why, now=now) if why else None
        if self._is_left_to_others(job.name):
            return None
        known, owner = self._marks.remembered(job), self._world.token()
        return rota.advanced(known, now=now, owner=owner, node=self._crew.node)

    async def _do_chores(self, reading: Reading, skip: int) -> bool:
        """See to the steps of the fleet, as far as we can and nobody else does; whether there was anything."""

        async def see_to(kind: Chore) -> bool:
            fresh = await look(self._world, self._desk, self._desk.store.due(skip, MOST_AT_ONCE))
            return await self._paused(fresh) <= 0 and await self._take(fresh, self._steps(fresh, kind))

        kinds: Sequence[Chore] = [kind for kind in chores_due(reading) if self._steps(reading, kind)]
        return await do_chores(self._crew, kinds, see_to)

    def _tell_unread(self, sheet: Sheet, why: str) -> None:
        if self._unread.get(sheet.name) != sheet.revision:
            self._unread[sheet.name] = sheet.revision
            self._desk.tell(events.SheetUnreadable(sheet.name, why))

    def _in_our_order(self, sheets: Sequence[Sheet]) -> Sequence[Sheet]:
        """Another one on each node: where much is due at once, they do not all reach for the same."""
        salt = self._crew.node.encode()
        return sorted(sheets, key=lambda sheet: crc32(sheet.name.encode(), crc32(salt)))

    def _is_ours(self, job: Job) -> bool:
        """Whether this node can do it."""
        return job.done_by in self._duties and set(job.terms.labels) <= set(self._crew.labels)

    def _is_left_to_others(self, name: str) -> bool:
        """Whether they may have run its ticks while the store was silent, and not have told yet."""
        return self._world.now() < self._reunited_at and name in self._stand_in.names

    async def _keep_in_mind(self) -> None:
        """How the jobs stand that are run also without the store: who has paused one does not want that."""
        if self._stand_in.names and self._world.now() >= self._minded_at + LOOK_EVERY:
            reading = await look(self._world, self._desk, self._desk.store.sheets(self._stand_in.names))
            self._stand_in.note(readable(reading.look.sheets))
            self._minded_at = reading.asked_at

    async def _take(self, reading: Reading, steps: Sequence[Step]) -> bool:
        """Have the store take these; whether there were any. Claims that are not answered stay in doubt."""
        if not steps:
            return False
        owners = self._doubts.ask(steps, reading.look.now)
        taken = await amend(self._world, self._desk, reading, steps, unless_due=FLEET)
        self._doubts.answered(owners)
        for each in taken:
            self._took(each)
        return True

    def _took(self, taken: Taken) -> None:
        step, job = taken.step, taken.step.job
        if step.through is not None:
            self._marks.note_tick(job, step.through, now=taken.now)
            self._stand_in.leave_out(job.name, step.through)
        for record in step.records:
            self.charge.tell(job.name, record)
        if step.begun is not None:
            self._take_on(job, replace(step.begun, fence=taken.revision), taken.asked_at)

    def _take_on(self, job: Job, run: Run, asked_at: float) -> None:
        if run.has_tick:
            self._marks.note_tick(job, run.tick, now=run.started_at)
        mine = Underway(job.name, run, job.terms, Tenure(job.terms.ttl, asked_at), begun_at=self._world.now())
        mine.function, mine.arguments, mine.rule = job.done_by, run.arguments or job.arguments, job.rule
        mine.safe_until = asked_at + job.overdue_at(run) - run.started_at - LEEWAY / 2
        self._begin(mine)

    def _begin(self, mine: Underway) -> None:
        run = mine.run
        if mine.is_lost(self._world.now()):  # the answer came too late to begin by
            self.charge.forsake(mine, NOT_RENEWED)
            self._doubts.give_up(mine)
            return
        self.charge.underway[run.owner] = mine
        self._marks.note_begun(mine.job, run)
        if run.has_tick:
            self._stand_in.leave_out(mine.job, run.tick)
        self._desk.tell(events.RunBegun(mine.job, run.tick, run.attempt, run.fence, run.started_at - run.tick))
        self._crew.begin(mine)

    async def _paused(self, reading: Reading) -> float:
        """For how long nothing is to be claimed, as the store cannot be gone by."""
        self._heed(reading.look)
        why = self._bearings.take(reading, heartbeat=self._heartbeat)
        if why is not None:
            lasts = self._bearings.resumes_at - reading.answered_at
            self._desk.tell(events.ClaimingPaused(self._desk.server, why, lasts))
            await self._remind()
        return self._bearings.resumes_at - self._world.now()

    def _heed(self, seen: Look) -> None:
        """A store that was started anew may have forgotten what we do."""
        if self._bearings.is_anew(seen):
            self.charge.loosen()

    # What the store may not know.

    async def _remind(self) -> None:
        """Tell a store that may not know it any more which jobs there are, and what we have dealt with."""
        self._is_reminded = False
        self._muster.hurry()
        await self._muster.report([mine.job for mine in self.charge.underway.values()])
        await rewrite_all(self._world, self._desk, self._marks.names, self._reminded)
        self._is_reminded = True

    def _reminded(self, name: str, job: Job | None, now: float) -> Step | None:
        counts = {mine.owner for mine in self.charge.underway.values() if not mine.forsaken}
        return None if job is None else self._marks.reminded(job, counts, now)

    # While the store is silent.

    async def _bear(self, silence: StoreUnreachable) -> float:
        """Run what is to be run without the store; but if it only refuses, nothing is."""
        now = self._world.now()
        if self._silent_since is None:
            self._silent_since = now - silence.after
            self._desk.tell(events.StoreSilent(silence.server, silence.why))
        if silence.is_outage and not self.is_leaving:
            their_time = self._bearings.their_time(now)
            their_time = self._crew.wall() if their_time is None else their_time
            busy_with = [mine.job for mine in self.charge.underway.values() if mine.ending is None]
            for mine in await self._stand_in.ticks(self._covered, their_time, busy_with=busy_with, why=silence.why):
                self.charge.underway[mine.owner] = mine
                self._crew.begin(mine)
        return RETRY

    def _note_answer(self) -> None:
        if self._silent_since is None:
            return
        lasted, now = self._world.now() - self._silent_since, self._bearings.heard
        self._desk.tell(events.StoreBack(lasted))
        self._silent_since = None
        if now is not None:
            self._muster.note_silence(now - lasted, now)

    async def _tell_of_outage(self) -> None:
        """What was begun without the store is leased from now on, and no tick is run that was dealt with."""
        if self.charge.drop_late():  # the store was not told of them in time: see to it that nobody begins them again
            await self._remind()
        loose = [mine for mine in self.charge.underway.values() if mine.is_loose]

        def told(name: str, job: Job | None, now: float) -> Step | None:
            return self._stand_in.told(name, job, now, [mine for mine in loose if mine.job == name])

        names = dict.fromkeys([*self._stand_in.untold, *(mine.job for mine in loose)])
        for taken in await rewrite_all(self._world, self._desk, list(names), told):
            name = taken.step.job.name
            self._stand_in.untold.pop(name, None)
            for record in taken.step.records:
                self.charge.tell(name, record)
            for mine in loose:
                if mine.job == name:
                    mine.is_loose = False
                    if taken.step.job.run_of(mine.owner) is not None:
                        mine.tenure = Tenure(mine.terms.ttl, taken.asked_at)
                    self._marks.note_tick(taken.step.job, mine.run.tick, now=taken.now)
