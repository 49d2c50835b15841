"""How a node takes its place in the fleet: it says what its code defines, and then, beat by beat, that it lives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from dibs import events
from dibs.flows.sheets import forget, look, rework, rewrite_all
from dibs.model import fleet
from dibs.model.control import Word, ended
from dibs.model.definition import Deployment, enrolled, is_outdated, retired
from dibs.model.fleet import BEAT, DEPLOYMENT, FLEET, MOST_SHOWN, NODE, Fleet, Node, fleet_of, parted
from dibs.model.job import BACKFILL
from dibs.model.names import WORKER
from dibs.model.sheet import Change, Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.flows.desk import Desk
    from dibs.flows.duty import Crew, Duty
    from dibs.flows.sheets import Reading
    from dibs.model.job import Job, Pause
    from dibs.model.rota import Step
    from dibs.model.sheet import Entry
    from dibs.ports.world import World

PAGE = 500
UNKNOWN = -inf


class Muster:
    """One node among the others, and what it knows of them."""

    def __init__(self, world: World, desk: Desk, duties: Mapping[str, Duty], crew: Crew) -> None:
        self._world, self._desk, self._crew = world, desk, crew
        self._said = {duty.name: duty.definition for duty in duties.values()}
        digests = {name: said.digest for name, said in self._said.items()}
        self._ours = Deployment(UNKNOWN, digests)
        self._node: Node | None = None
        self._beat_at, self._longest = -inf, 0.0
        self._told_outdated: set[str] = set()
        self.fleet = Fleet(UNKNOWN)
        """All of it, as it was at the last beat."""

    async def report(self, running: Sequence[str]) -> None:
        """Once a beat: say that we live and what we do, look who else does, and see to the schedules of our code."""
        began = self._world.now()
        if began < self._beat_at + BEAT:
            return
        await self._beat(running)  # first: a deployment whose node lives is not thrown away
        await self._stand()
        await self._look_around()
        for taken in await rewrite_all(self._world, self._desk, list(self._said), self._enrolled):
            if any(act.act == "changed" for act in taken.step.acts):
                self._desk.tell(events.ScheduleChanged(taken.step.job.name, taken.step.job.rule, self._crew.node))
        await self._clear_up()
        self._beat_at = began

    async def retire(self) -> None:
        """Say that we leave."""
        if self._node is not None:
            now, revision = await self._own_sheet()
            await self._write(parted(self._node, now), revision)

    def hurry(self) -> None:
        """The store may have forgotten us: the next beat is now."""
        self._beat_at = -inf

    def note_round(self, took: float) -> None:
        """So long took a round of ours."""
        self._longest = max(self._longest, took)

    def note_silence(self, since: float, until: float) -> None:
        """The store did not answer us from then to then, by its own clock: it is told so that people can see it."""
        self._note([fleet.silence(self._crew.node, since, until)])

    def _note(self, entries: Sequence[Entry]) -> None:
        self._world.later(self._desk.store.note(FLEET, entries, fleet.KEEP, fleet.KEEP_FOR), _is_noted)

    async def heed(self, reading: Reading) -> Pause | None:
        """See to what is due and no job's: nodes and workers long gone are forgotten. Gives the freeze, if any."""
        sheets, now = reading.look.sheets, reading.look.now
        await forget(self._world, self._desk, reading, NODE)
        await forget(self._world, self._desk, reading, WORKER)
        for sheet in [each for each in sheets if each.name == FLEET]:
            if (freeze := fleet.freeze_of(sheet, now)) is not None:
                return freeze
            await rework(self._world, self._desk, FLEET, fleet.melted)
        return None

    # What we say.

    async def _stand(self) -> None:
        """See to it that our deployment is known; since when, the first of its nodes has said."""

        def stated(found: Sheet | None, now: float) -> Change | None:
            seen_at = now if self._ours.seen_at == UNKNOWN else self._ours.seen_at
            known = None if found is None else fleet.fleet_of([found], now).deployments.get(self._ours.digest)
            self._ours = replace(self._ours, seen_at=seen_at if known is None else known.seen_at)
            revision = 0 if found is None else found.revision
            return Change(name, revision, self._ours.text(), None, now, inf) if known is None else None

        name = DEPLOYMENT + self._ours.digest
        await rework(self._world, self._desk, name, stated)

    async def _beat(self, running: Sequence[str]) -> None:
        (now, revision), crew = await self._own_sheet(), self._crew
        node = Node(
            crew.node,
            now if self._node is None else self._node.since,
            now,
            self._ours.digest,
            version=crew.version,
            labels=crew.labels,
            workers=crew.workers,
            skew=round(crew.wall() - now, 3),
            round_takes=round(self._longest, 3),
            runs=tuple(running[:MOST_SHOWN]),
            holds=tuple([hold.name for hold in list(self._desk.holds.values())][:MOST_SHOWN]),
        )
        self._longest = 0.0
        await self._write(node, revision)

    async def _own_sheet(self) -> tuple[float, int]:
        """What the store's clock says, and which revision our sheet is at; 0 if there is none."""
        reading = await look(self._world, self._desk, self._desk.store.sheets([NODE + self._crew.node]))
        return reading.look.now, reading.look.sheets[0].revision if reading.look.sheets else 0

    async def _write(self, node: Node, revision: int) -> None:
        sheet = Change(NODE + node.name, revision, node.text(), node.forget_at(), node.beat_at, inf)
        amended = replace(sheet, seen=self._desk.seen_fence)
        await self._world.ask(self._desk.store.amend([amended]), self._desk.patience)
        self._node = node

    # What we see.

    async def _look_around(self) -> None:
        """Read who is there, and tell who is not any more."""
        seen = await survey(self._world, self._desk)
        was_live = {node.name for node in self.fleet.live}
        for name in seen.unread.keys() - self.fleet.unread.keys():
            self._desk.tell(events.SheetUnreadable(name, seen.unread[name]))
        for node in seen.nodes:
            if node.name in was_live and node.state(seen.at) == "down":
                self._desk.tell(events.NodeDown(node.name, seen.at - node.beat_at))
        if self.fleet.at == UNKNOWN and (absence := fleet.absence(self._crew.node, seen)) is not None:
            self._note([absence])
        self.fleet = seen

    def _enrolled(self, name: str, job: Job | None, now: float) -> Step | None:
        said, live = self._said[name], self.fleet.deployed
        step = enrolled(job, said, ours=self._ours, live=live, now=now, by=self._crew.node)
        is_other = job is not None and step is None and job.code != said.digest
        if job is not None and is_other and is_outdated(job, self._ours, live) and name not in self._told_outdated:
            self._told_outdated.add(name)
            self._desk.tell(events.DefinitionOutdated(name, said.rule, job.rule))
        return step

    async def _clear_up(self) -> None:
        """Schedules of code that runs nowhere any more retire."""
        for digest in self.fleet.left_over:
            kept = {name for each in self.fleet.deployed for name in each.definitions}
            names = [name for name in self.fleet.deployments[digest].definitions if name not in kept]
            gone = [taken.step.job.name for taken in await rewrite_all(self._world, self._desk, names, self._retired)]
            for name in gone:
                self._desk.tell(events.ScheduleRetired(name))
            await rewrite_all(self._world, self._desk, [name + BACKFILL for name in gone], self._retired)
            await rework(self._world, self._desk, DEPLOYMENT + digest, _thrown_away)

    def _retired(self, name: str, job: Job | None, now: float) -> Step | None:
        word = Word(self._crew.node, now, "no live node's code defines it any more")
        if job is None:
            return None
        return retired(job, word) if job.backfill is None else replace(ended(job, word, "retired"), acts=())


async def survey(world: World, desk: Desk) -> Fleet:
    """All nodes and deployments as they stand."""
    _, deployments = await _all(world, desk, DEPLOYMENT)
    now, nodes = await _all(world, desk, NODE)
    seen = fleet_of([*deployments, *nodes], now)
    if all(node.deployment in seen.deployments for node in seen.live):
        return seen
    _, deployments = await _all(world, desk, DEPLOYMENT)  # a node has come meanwhile, with code that was not there
    return fleet_of([*deployments, *nodes], now)


async def _all(world: World, desk: Desk, prefix: str) -> tuple[float, Sequence[Sheet]]:
    """The sheets whose names begin so: not all that a fleet keeps beside its jobs, which may be any number."""
    sheets, after = list[Sheet](), ""
    while True:
        reading = await look(world, desk, desk.store.named(prefix, after, PAGE))
        sheets += reading.look.sheets
        if len(reading.look.sheets) < PAGE:
            return reading.look.now, sheets
        after = reading.look.sheets[-1].name


def _is_noted(_: object) -> None:
    """That it is is all there is to know."""


def _thrown_away(found: Sheet | None, now: float) -> Change | None:
    return None if found is None else Change(found.name, found.revision, None, None, now, inf)
