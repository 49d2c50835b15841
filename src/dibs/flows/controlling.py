"""How people act on jobs: read, judge by the model's rules, have the store take it, and tell everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dibs import events
from dibs.errors import ActRefused, NoSuchJob
from dibs.flows.sheets import look, readable, rework, rewrite_all
from dibs.model import control, fleet
from dibs.model.control import Refused, Word
from dibs.model.fleet import FLEET
from dibs.model.job import BACKFILL, Job, belongs_to
from dibs.model.rota import Step
from dibs.model.sheet import Change, Sheet
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.job import Pause
    from dibs.ports.world import World

OTHERS_WERE_FASTER = "others have changed it again and again meanwhile: try once more"
NEWER = "only a newer dibs can read its sheet, or nobody if it was written by hand: upgrade dibs here"

Judge = Callable[[str, Job | None, Word], Step | None]
"""What is to be done about a job as it stands, if it is there; raises `Refused` if it cannot be."""
Moment = Callable[[float], float | None]
"""A moment that somebody has named, given what the store's clock says now."""


@value
class Order:
    """What somebody wants done, as in "pause", who that is, and why; who does not say is this process."""

    asked: str
    by: str = ""
    reason: str = ""

    def word(self, desk: Desk, now: float) -> Word:
        """As it is noted."""
        return Word(self.by or desk.who, now, self.reason)


@value
class Standing:
    """A job as it stands, its backfill, and what the store's clock says."""

    now: float
    job: Job
    beside: Job | None = None


async def find(world: World, desk: Desk, name: str, *, asked: str = "show") -> Standing | None:
    """How a job stands; `None` if the store does not know it."""
    reading = await look(world, desk, desk.store.sheets([name, name + BACKFILL]))
    found = {job.name: job for job in readable(reading.look.sheets)}
    if name in found:
        return Standing(reading.look.now, found[name], found.get(name + BACKFILL))
    if any(sheet.name == name for sheet in reading.look.sheets):
        raise ActRefused(name, asked=asked, why=NEWER)
    return None


async def act(world: World, desk: Desk, name: str, judge: Callable[[Job, Word], Step], *, order: Order) -> Step:
    """Do to a job what the judge says of it as it stands when the store takes it."""

    def judged(_: str, job: Job | None, word: Word) -> Step:
        return judge(known(name, job), word)

    [step] = await carry_out(world, desk, [name], judged, order=order)
    return step


async def carry_out(world: World, desk: Desk, names: Sequence[str], judge: Judge, *, order: Order) -> Sequence[Step]:
    """Do to each of these sheets what the judge says; what the store took is told, also if it did not take all."""
    seen, wanted = set[str](), set[str]()

    def judged(name: str, job: Job | None, now: float) -> Step | None:
        seen.add(name)
        try:
            step = judge(name, job, order.word(desk, now))
        except Refused as why:
            raise _refusal(name, order, str(why)) from None
        wanted.update([name] if step is not None else [])
        return step

    steps = [taken.step for taken in await rewrite_all(world, desk, names, judged)]
    for step in steps:
        _tell(desk, step)
    if unread := set(names) - seen:
        raise _refusal(min(unread), order, NEWER)
    if left := wanted - {step.job.name for step in steps}:
        raise _refusal(min(left), order, OTHERS_WERE_FASTER)
    return steps


def known(name: str, job: Job | None) -> Job:
    """The job, if there is one."""
    if job is None:
        raise NoSuchJob(name)
    return job


# Ticks of times past.


@value
class Span:
    """The ticks of a rule from then to then, both included, and how many of them are run at once."""

    rule: str
    since: float
    until: float
    parallel: int = 1


async def fill_in(world: World, desk: Desk, name: str, span: Span, *, order: Order) -> Step:
    """Have a job's ticks of times past run; those that somebody has looked at, or none."""
    standing = await find(world, desk, name, asked=order.asked)
    job = known(name, None if standing is None else standing.job)

    def judged(_: str, beside: Job | None, word: Word) -> Step:
        if job.rule != span.rule:
            raise Refused(f"it was changed since you looked, and is due by {job.rule!r} now: look again")
        return control.filled_in(job, beside, word, since=span.since, until=span.until, parallel=span.parallel)

    [step] = await carry_out(world, desk, [name + BACKFILL], judged, order=order)
    return step


async def give_up(world: World, desk: Desk, name: str, *, order: Order) -> Step:
    """Have no more ticks of times past run, and those under way stopped."""
    standing = await find(world, desk, name, asked=order.asked)
    known(name, None if standing is None else standing.job)

    def judged(_: str, beside: Job | None, word: Word) -> Step:
        if beside is None:
            raise Refused("no backfill of it is under way")
        return control.given_up(beside, word)

    [step] = await carry_out(world, desk, [name + BACKFILL], judged, order=order)
    return step


# The whole fleet.


async def freeze(world: World, desk: Desk, until: Moment, *, order: Order) -> None:
    """Let nobody claim anything, until then or until somebody says otherwise."""

    def judge(found: Sheet | None, word: Word) -> Change:
        return fleet.frozen(found, word, until=until(word.at))

    await _on_the_fleet(world, desk, judge, order=order, act="frozen")


async def thaw(world: World, desk: Desk, *, order: Order) -> None:
    """Let everybody go on."""
    await _on_the_fleet(world, desk, fleet.thawed, order=order, act="thawed")


async def freezing(world: World, desk: Desk) -> Pause | None:
    """Whether the whole fleet is frozen, and why."""
    reading = await look(world, desk, desk.store.sheets([FLEET]))
    return fleet.freeze_of(reading.look.sheets[0], reading.look.now) if reading.look.sheets else None


async def _on_the_fleet(
    world: World, desk: Desk, judge: Callable[[Sheet | None, Word], Change], *, order: Order, act: str
) -> None:
    def judged(found: Sheet | None, now: float) -> Change:
        try:
            return judge(found, order.word(desk, now))
        except Refused as why:
            raise ActRefused("", asked=order.asked, why=str(why)) from None

    if not await rework(world, desk, FLEET, judged):
        raise ActRefused("", asked=order.asked, why=OTHERS_WERE_FASTER)
    desk.tell(events.Acted("", act, order.by or desk.who, order.reason))


# What these are made of.


def _refusal(sheet: str, order: Order, why: str) -> ActRefused:
    return ActRefused(belongs_to(sheet), asked=order.asked, why=why)


def _tell(desk: Desk, step: Step) -> None:
    name = step.job.belongs_to
    for act in step.acts:
        desk.tell(events.Acted(name, act.act, act.by, act.reason))
    for record in step.records:
        desk.tell(events.TickPassed(name, record.tick, record.outcome, record.reason))
