"""The runs that a node has in its hands: what the store is told of them, and they of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

from dibs import events
from dibs.flows.asking import ask
from dibs.flows.duty import NOT_RENEWED, TAKEN, TIMEOUT, Underway
from dibs.flows.sheets import Taken, rewrite_all
from dibs.model import rota
from dibs.model.job import LEEWAY, Job
from dibs.model.record import LATE, Record, records_of
from dibs.model.rota import Step
from dibs.model.sheet import Question
from dibs.model.tenure import Tenure

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.sheet import Look
    from dibs.ports.world import World

RECENT = 50
"""So many lines of a job's history are read to find what was told a moment ago."""

Word = Callable[[Job, Underway, float], Step | None]


class Charge:
    """All runs of one node, by owner."""

    def __init__(self, world: World, desk: Desk, node: str, heed: Callable[[Look], None]) -> None:
        self._world, self._desk, self._node, self._heed = world, desk, node, heed
        self.underway: dict[str, Underway] = {}
        self._spoken_of: dict[str, Sequence[Underway]] = {}

    def watch(self) -> None:
        """Runs that cannot rely on their lease any more, or take too long, are told. Asks no store."""
        now = self._world.now()
        for mine in [each for each in self.underway.values() if each.ending is None]:
            lasts, terms = now - mine.begun_at, mine.terms
            if mine.is_lost(now):
                self.forsake(mine, NOT_RENEWED)
            if terms.timeout is not None and lasts > terms.timeout:
                mine.ask_to_stop(TIMEOUT)
                self._leave_behind(mine, lasts - terms.timeout)
            if terms.expect is not None and lasts > terms.expect and not mine.is_told_slow:
                mine.is_told_slow = True
                self._desk.tell(events.RunSlow(mine.job, mine.run.tick, mine.run.attempt, lasts, terms.expect))

    def _leave_behind(self, mine: Underway, late: float) -> None:
        """One that is not ours any more, and will hardly ever stop."""
        if mine.forsaken and late > LEEWAY and not mine.is_left_behind:
            mine.is_left_behind = True
            lasts = self._world.now() - mine.begun_at
            self._desk.tell(events.RunLeftBehind(mine.job, mine.run.tick, mine.run.attempt, lasts))

    def rests(self) -> float:
        """For how many seconds there is nothing to say of the runs that go on, nor to them."""
        now = self._world.now()
        moments = [now for mine in self.underway.values() if mine.is_loose]
        for mine in [each for each in self.underway.values() if each.ending is None]:
            if not mine.forsaken:
                moments.append(mine.tenure.renew_at)
            if mine.terms.timeout is not None and not mine.asked_to_stop:
                moments.append(mine.begun_at + mine.terms.timeout)
        return max(min(moments, default=inf) - now, 0.0)

    async def report(self) -> None:
        """Tell the store which runs have ended, and that the others go on."""
        for taken in await self._say(self._how_it_is):
            for mine in self._spoken_of[taken.step.job.name]:
                if taken.step.job.run_of(mine.owner) is None:
                    self._over(mine, taken)
                else:  # it may have ended while we said that it goes on
                    mine.tenure = mine.tenure.or_longer(Tenure(mine.terms.ttl, taken.asked_at))
        for mine in [each for each in self.underway.values() if each.is_missing]:
            await self._look_up(mine)

    async def hand_back(self) -> None:
        """Tell the store which runs have ended, and that the others will not: not here."""
        for mine in [each for each in self.underway.values() if each.ending is None]:
            self.forsake(mine, rota.SHUT_DOWN)  # before another node can be given it
        for taken in await self._say(self._how_it_is_left):
            for mine in self._spoken_of[taken.step.job.name]:
                self._over(mine, taken)

    def loosen(self) -> None:
        """The store may have forgotten our runs: those that nobody else can have are told to it anew.

        Not those whose end it may have heard of: there must not be two ends.
        """
        now = self._world.now()
        for mine in self.underway.values():
            mine.is_loose = mine.is_loose or not (mine.forsaken or mine.is_unanswered or mine.is_lost(now))

    def drop_late(self) -> bool:
        """Whether there are runs of which the store was to be told, and did not hear in time: not ours any more."""
        now = self._world.now()
        late = [mine for mine in self.underway.values() if mine.is_loose and mine.is_lost(now)]
        for mine in late:
            mine.is_loose = False
            self.forsake(mine, NOT_RENEWED)
        return bool(late)

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
        elif record.node != self._node and record.outcome == "lost":
            self._desk.tell(events.RunBuried(job, tick, attempt, record.node, is_last))
        else:
            self._desk.tell(events.RunEnded(job, tick, attempt, outcome, record.reason, record.duration, is_last))

    async def _say(self, word: Word) -> Sequence[Taken]:
        runs, self._spoken_of = dict[str, list[Underway]](), {}
        for mine in self.underway.values():
            if not mine.is_loose:
                runs.setdefault(mine.job, []).append(mine)

        def told(name: str, job: Job | None, now: float) -> Step | None:
            step, self._spoken_of[name] = self._told(runs[name], job, now, word)
            return step

        return await rewrite_all(self._world, self._desk, list(runs), told, heed=self._heed)

    def _told(
        self, runs: Sequence[Underway], job: Job | None, now: float, word: Word
    ) -> tuple[Step | None, Sequence[Underway]]:
        """What is to be told of our runs of one job, and of which of them it is."""
        records, said = list[Record](), list[Underway]()
        for mine in [each for each in runs if not each.is_loose]:
            run = None if job is None else job.run_of(mine.owner)
            if job is None or run is None:
                self._gone(mine)
                continue
            if run.cancelled_by:
                mine.ask_to_stop(run.cancelled_by)
            if (step := word(job, mine, now)) is not None:
                said.append(mine)
                job, records = step.job, [*records, *step.records]
        return Step(job, records) if job is not None and said else None, said

    def _how_it_is(self, job: Job, mine: Underway, now: float) -> Step | None:
        if mine.ending is not None:
            mine.is_unanswered = True
            job = self._kept(job, mine, now) or job
            return rota.settled(job, mine.owner, mine.ending, now=now)
        if mine.forsaken or mine.tenure.renew_at > self._world.now():
            return None
        kept = self._kept(job, mine, now)
        return None if kept is None else Step(kept)

    def _kept(self, job: Job, mine: Underway, now: float) -> Job | None:
        return rota.kept(job, mine.owner, now=now, ttl=mine.terms.ttl, progress=mine.progress, note=mine.note)

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
        """The store does not know of a run of ours; or not any more, as we have told its end, and were not answered."""
        if mine.ending is not None and mine.is_unanswered:
            mine.is_missing = True
            return
        self.forsake(mine, TAKEN)
        if mine.ending is not None:
            self.underway.pop(mine.owner, None)

    async def _look_up(self, mine: Underway) -> None:
        """The history says what became of it; if it does not, the store has forgotten it, and is told anew."""
        run = mine.run
        question = Question(mine.job, until=inf if run.source in LATE else run.tick, limit=RECENT)
        lines = await ask(self._world, self._desk.store.lines(question), self._desk.patience)
        key = run.tick, run.attempt, run.source, self._node
        noted = [each for each in records_of(lines) if (each.tick, each.attempt, each.source, each.node) == key]
        mine.is_missing = False
        if not noted and not mine.is_lost(self._world.now()):
            mine.is_loose, mine.is_unanswered = True, False
            return
        del self.underway[mine.owner]
        if not noted or noted[0].outcome == "lost":
            self.forsake(mine, TAKEN)
        else:
            self.tell(mine.job, noted[0])
