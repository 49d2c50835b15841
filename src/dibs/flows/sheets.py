"""How jobs are changed: read, judge by the model's rules, and have the store take it, if nobody was faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dibs.flows.asking import ask
from dibs.model.job import Job, job_of
from dibs.model.rota import Step
from dibs.model.sheet import Change, Entry, Look, Sheet
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.store import Command
    from dibs.ports.world import World

Judge = Callable[[str, Job | None, float], Step | None]
"""What is to be done about a job as it stands, if it is there, at a moment of the store's clock."""

LANDS_WITHIN = 5.0
"""A change that is not there so many seconds after its sheet was read does nothing any more."""
MOST_AT_ONCE = 200
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


async def look(world: World, desk: Desk, command: Command[Look]) -> Reading:
    """Some sheets as they stand."""
    asked_at = world.now()
    found = await ask(world, command, desk.patience)
    return Reading(asked_at, world.now(), found)


async def amend(world: World, desk: Desk, reading: Reading, steps: Sequence[Step]) -> Sequence[Taken]:
    """Those of the steps that the store took."""
    taken: list[Taken] = []
    for start in range(0, len(steps), MOST_AT_ONCE):
        some = steps[start : start + MOST_AT_ONCE]
        changes = [change(step, reading.look.now, desk.seen_fence) for step in some]
        revisions = await world.ask(desk.store.amend(changes), desk.patience)
        desk.seen_fence = max(desk.seen_fence, *revisions)
        pairs = zip(some, revisions, strict=True)
        taken += [Taken(step, revision, reading.asked_at) for step, revision in pairs if revision]
    return taken


def change(step: Step, now: float, seen: int) -> Change:
    """What is to be asked of the store for a step that was made at this moment of its clock."""
    job, terms = step.job, step.job.terms
    entries = tuple(Entry(record.at, record.text()) for record in step.records)
    return Change(
        job.name,
        job.revision,
        job.text(),
        job.acts_at(),
        earliest=now,
        not_after=now + LANDS_WITHIN,
        seen=seen,
        entries=entries,
        keep=terms.keep,
        keep_for=terms.keep_for,
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
        found = {sheet.name: job_of(sheet) for sheet in reading.look.sheets}
        judged = [judge(name, found.get(name), reading.look.now) for name in left]
        steps = [step for step in judged if step is not None]
        taken = await amend(world, desk, reading, steps)
        done += taken
        was_taken = {each.step.job.name for each in taken}
        left = [step.job.name for step in steps if step.job.name not in was_taken]
        if not left:
            break
    return done


def readable(sheets: Sequence[Sheet]) -> Sequence[Job]:
    """The jobs on these sheets, without those that only a newer dibs can read."""
    jobs: list[Job] = []
    for sheet in sheets:
        try:
            jobs.append(job_of(sheet))
        except ValueError:
            continue
    return jobs
