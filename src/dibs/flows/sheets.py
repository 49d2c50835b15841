"""How jobs are changed: read, judge by the model's rules, and have the store take it, if nobody was faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.flows.asking import ask
from dibs.model.job import Job, calendar_of
from dibs.model.reading import job_of
from dibs.model.rota import Step
from dibs.model.sheet import Change, Look, Sheet
from dibs.model.value import value
from dibs.ports.store import ChoosyStore

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.store import Command
    from dibs.ports.world import World

Judge = Callable[[str, Job | None, float], Step | None]
"""What is to be done about a job as it stands, if it is there, at a moment of the store's clock."""

LANDS_WITHIN = 5.0
"""A change that is not there so many seconds after its sheet was read does nothing any more."""
MOST_AT_ONCE = 200
MOST_NOTED = 2_000
"""So many entries are noted at once, if not one step alone has more: a store does nothing else meanwhile."""
BESIDE = "~"
"""So begin the names of sheets that are no job's."""
MOST_TRIES = 20
"""So often may others be faster: each time one of them has got what it wanted."""


@value
class Reading:
    """Sheets, and when they were asked for, by our own clock."""

    asked_at: float
    answered_at: float
    look: Look


@value
class Taken:
    """A step that the store has taken; what it says of times counts from when its sheet was asked for."""

    step: Step
    revision: int
    asked_at: float
    now: float
    """What the store's clock said then."""


async def look(world: World, desk: Desk, command: Command[Look]) -> Reading:
    """Some sheets as they stand."""
    asked_at = world.now()
    found = await ask(world, command, desk.patience)
    return Reading(asked_at, world.now(), found)


async def amend(
    world: World, desk: Desk, reading: Reading, steps: Sequence[Step], *, unless_due: str = ""
) -> Sequence[Taken]:
    """Those of the steps that the store took; none while the sheet of that name is to be looked at."""
    taken: list[Taken] = []
    for some in _batches(steps):
        changes = [change(step, reading.look.now, seen=desk.seen_fence, unless_due=unless_due) for step in some]
        revisions = await world.ask(desk.store.amend(changes), desk.patience)
        desk.seen_fence = max(desk.seen_fence, *revisions)
        pairs = zip(some, revisions, strict=True)
        taken += [Taken(step, revision, reading.asked_at, reading.look.now) for step, revision in pairs if revision]
    return taken


def _batches(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """As many at once as a store can do in a moment."""
    some, noted = list[Step](), 0
    for step in steps:
        entries = len(step.records) + len(step.acts)
        if some and (len(some) == MOST_AT_ONCE or noted + entries > MOST_NOTED):
            yield some
            some, noted = [], 0
        some.append(step)
        noted += entries
    if some:
        yield some


def change(step: Step, now: float, *, seen: int, unless_due: str = "") -> Change:
    """What is to be asked of the store for a step that was made at this moment of its clock."""
    job, terms = step.job, step.job.terms
    records = [replace(record, version=job.version).entry(job.name, job.belongs_to) for record in step.records]
    entries = (*records, *(act.entry(job.name, job.belongs_to) for act in step.acts))
    return Change(
        job.name,
        job.revision,
        None if step.is_thrown_away else job.text(),
        job.acts_at(),
        earliest=now,
        not_after=now + LANDS_WITHIN,
        seen=seen,
        entries=entries,
        keep=terms.keep,
        keep_for=terms.keep_for,
        unless_due=unless_due,
    )


async def rewrite_all(
    world: World, desk: Desk, names: Sequence[str], judge: Judge, *, heed: Callable[[Look], None] = lambda _: None
) -> Sequence[Taken]:
    """Do to each of these jobs what the judge says, and where others are faster, what it says of the job then.

    `heed` is told first what was seen.
    """
    taken: list[Taken] = []
    for start in range(0, len(names), MOST_AT_ONCE):
        taken += await _rewrite(world, desk, names[start : start + MOST_AT_ONCE], judge, heed)
    return taken


async def _rewrite(
    world: World, desk: Desk, names: Sequence[str], judge: Judge, heed: Callable[[Look], None]
) -> Sequence[Taken]:
    done: list[Taken] = []
    left = list(names)
    for _ in range(MOST_TRIES):
        reading = await look(world, desk, desk.store.sheets(left))
        heed(reading.look)
        found = {job.name: job for job in readable(reading.look.sheets)}
        newer = {sheet.name for sheet in reading.look.sheets} - found.keys()
        judged = [judge(name, found.get(name), reading.look.now) for name in left if name not in newer]
        steps = [step for step in judged if step is not None]
        taken = await amend(world, desk, reading, steps)
        done += taken
        was_taken = {each.step.job.name for each in taken}
        left = [step.job.name for step in steps if step.job.name not in was_taken]
        if not left:
            break
    return done


async def rework(world: World, desk: Desk, name: str, judge: Callable[[Sheet | None, float], Change | None]) -> bool:
    """Do to a sheet that is no job's what the judge says; whether there was anything to do, and it was done."""
    for _ in range(MOST_TRIES):
        reading = await look(world, desk, desk.store.sheets([name]))
        found = reading.look.sheets[0] if reading.look.sheets else None
        wanted = judge(found, reading.look.now)
        if wanted is None:
            return False
        [revision] = await world.ask(desk.store.amend([replace(wanted, seen=desk.seen_fence)]), desk.patience)
        if revision:
            desk.seen_fence = max(desk.seen_fence, revision)
            return True
    return False


async def forget_due(world: World, desk: Desk, prefix: str, limit: int) -> None:
    """Throw away some of such sheets that are due, unless they go by themselves."""
    if not isinstance(desk.store, ChoosyStore):
        await forget(world, desk, await look(world, desk, desk.store.due(0, limit)), prefix)


async def forget(world: World, desk: Desk, reading: Reading, prefix: str) -> None:
    """Throw away what is due of such sheets: they are no job's, and were kept for as long as anybody might ask."""
    names = [sheet for sheet in reading.look.sheets if sheet.name.startswith(prefix)]
    if names:
        now = reading.look.now
        old = [Change(sheet.name, sheet.revision, None, None, now, now + LANDS_WITHIN) for sheet in names]
        await world.ask(desk.store.amend(old), desk.patience)


def readable(sheets: Sequence[Sheet], *, unread: Callable[[Sheet, str], None] = lambda _, __: None) -> Iterator[Job]:
    """The jobs on these sheets, without what is no job, and those that only a newer dibs can read, or nobody.

    `unread` is told of these, and why.
    """
    for sheet in [each for each in sheets if not each.name.startswith(BESIDE)]:
        try:
            job = job_of(sheet)
            calendar_of(job.rule)
        except ValueError as why:
            unread(sheet, str(why))
        else:
            yield job
