"""The runs that a node has in its hands: what the store is told of them, and they of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dibs import events
from dibs.flows.duty import NOT_RENEWED, TAKEN, TIMEOUT, Underway
from dibs.flows.sheets import Taken, rewrite_all
from dibs.model import rota
from dibs.model.job import Job, Record
from dibs.model.rota import Step
from dibs.model.tenure import Tenure

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World

Word = Callable[[Job, Underway, float], Step | None]


class Charge:
    """All runs of one node, by owner."""

    def __init__(self, world: World, desk: Desk, node: str) -> None:
        self._world, self._desk, self._node = world, desk, node
        self.underway: dict[str, Underway] = {}
        self._spoken_of: dict[str, list[Underway]] = {}

    def watch(self) -> None:
        """Runs that cannot rely on their lease any more, or take too long, are told. Asks no store."""
        now = self._world.now()
        for mine in [each for each in self.underway.values() if each.ending is None]:
            lasts, terms = now - mine.begun_at, mine.terms
            if mine.is_lost(now):
                self.forsake(mine, NOT_RENEWED)
            if terms.timeout is not None and lasts > terms.timeout:
                mine.ask_to_stop(TIMEOUT)
            if terms.expect is not None and lasts > terms.expect and not mine.is_told_slow:
                mine.is_told_slow = True
                self._desk.tell(events.RunSlow(mine.job, mine.run.tick, mine.run.attempt, lasts, terms.expect))

    async def report(self) -> None:
        """Tell the store which runs have ended, and that the others go on."""
        for taken in await self._say(self._how_it_is):
            for mine in self._spoken_of[taken.step.job.name]:
                if mine.ending is None:
                    mine.tenure = mine.tenure.or_longer(Tenure(mine.terms.ttl, taken.asked_at))
                else:
                    self._over(mine, taken)

    async def hand_back(self) -> None:
        """Tell the store which runs have ended, and that the others will not: not here."""
        for taken in await self._say(self._how_it_is_left):
            for mine in self._spoken_of[taken.step.job.name]:
                self._over(mine, taken)

    def forsake(self, mine: Underway, why: str) -> None:
        """What it does from now on does not count."""
        if not mine.forsaken:
            mine.forsake(why)
            self._desk.tell(events.RunForsaken(mine.job, mine.run.tick, mine.run.attempt, why))

    def tell(self, job: str, record: Record) -> None:
        """Tell whoever wants to know what was noted of a job."""
        tick, attempt, outcome, is_last = record.tick, record.attempt, record.outcome, record.is_last
        if not record.started_at:
            self._desk.tell(events.TickPassed(job, tick, outcome, record.reason))
        elif record.node != self._node:
            self._desk.tell(events.RunBuried(job, tick, attempt, record.node, is_last))
        else:
            self._desk.tell(events.RunEnded(job, tick, attempt, outcome, record.reason, record.duration, is_last))

    async def _say(self, word: Word) -> Sequence[Taken]:
        def told(name: str, job: Job | None, now: float) -> Step | None:
            return self._told(name, job, now, word)

        names = dict.fromkeys(mine.job for mine in self.underway.values() if not mine.is_loose)
        return await rewrite_all(self._world, self._desk, list(names), told)

    def _told(self, name: str, job: Job | None, now: float, word: Word) -> Step | None:
        """What is to be told of our runs of one job."""
        records, said = list[Record](), list[Underway]()
        for mine in [each for each in self.underway.values() if each.job == name and not each.is_loose]:
            run = None if job is None else job.run_of(mine.owner)
            if job is None or run is None:
                self._gone(mine)
                continue
            if run.cancelled_by:
                mine.ask_to_stop(run.cancelled_by)
            if (step := word(job, mine, now)) is not None:
                said.append(mine)
                job, records = step.job, [*records, *step.records]
        self._spoken_of[name] = said
        return Step(job, records) if job is not None and said else None

    def _how_it_is(self, job: Job, mine: Underway, now: float) -> Step | None:
        if mine.ending is not None:
            mine.is_unanswered = True
            return rota.settled(job, mine.owner, mine.ending, now=now)
        if mine.forsaken or mine.tenure.renew_at > self._world.now():
            return None
        kept = rota.kept(job, mine.owner, now=now, progress=mine.progress, note=mine.note)
        return None if kept is None else Step(kept)

    def _how_it_is_left(self, job: Job, mine: Underway, now: float) -> Step | None:
        if mine.ending is not None:
            return self._how_it_is(job, mine, now)
        return rota.handed_back(job, mine.owner, now=now, has_begun=mine.has_begun)

    def _over(self, mine: Underway, taken: Taken) -> None:
        self.underway.pop(mine.owner, None)
        for record in taken.step.records:
            if (record.tick, record.attempt) == (mine.run.tick, mine.run.attempt):
                self.tell(mine.job, record)

    def _gone(self, mine: Underway) -> None:
        """The store does not know of a run of ours."""
        is_done = mine.ending is not None
        if not (is_done and mine.is_unanswered and not mine.is_lost(self._world.now())):
            self.forsake(mine, TAKEN)  # else what we told of its end has reached the store, though not its answer us
        if is_done:
            self.underway.pop(mine.owner, None)
