"""How schedules are defined as data: added, changed and removed while the fleet runs, and listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.flows.controlling import Standing, act, carry_out, known
from dibs.flows.muster import survey
from dibs.flows.sheets import MOST_AT_ONCE, look, readable
from dibs.model import control, definition
from dibs.model.control import Refused
from dibs.model.definition import Definition, definition_of
from dibs.model.job import BACKFILL
from dibs.model.names import STEP

if TYPE_CHECKING:
    from dibs.flows.controlling import Order
    from dibs.flows.desk import Desk
    from dibs.model.control import Word
    from dibs.model.job import Job
    from dibs.model.rota import Step
    from dibs.ports.world import World

PAGE = 200
LAST = "\U0010ffff"
"""No name has this character, and none comes after it."""


async def add(world: World, desk: Desk, said: Definition, *, order: Order) -> Step:
    """A schedule that is new."""

    def judged(_: str, job: Job | None, word: Word) -> Step:
        return definition.added(job, said, word)

    [step] = await carry_out(world, desk, [said.name], judged, order=order)
    return step


async def add_all(world: World, desk: Desk, said: Sequence[Definition], *, order: Order) -> int:
    """Many that are new, some at a time; those that are there as they are said are left alone. Gives how many were new.

    So whoever was not answered, or was refused in the middle, says all of it again.
    """
    by_name = {each.name: each for each in said}

    def judged(name: str, job: Job | None, word: Word) -> Step | None:
        is_there = job is not None and job.gone is None and definition_of(job) == by_name[name]
        return None if is_there else definition.added(job, by_name[name], word)

    names, added = list(by_name), 0
    for start in range(0, len(names), MOST_AT_ONCE):
        added += len(await carry_out(world, desk, names[start : start + MOST_AT_ONCE], judged, order=order))
    return added


async def change(world: World, desk: Desk, name: str, said: Callable[[Job], Definition], *, order: Order) -> Step:
    """A schedule that is otherwise from now on: as is said, given what holds of it."""

    def judged(job: Job, word: Word) -> Step:
        return definition.changed(job, said(job), word)

    return await act(world, desk, name, judged, order=order)


async def remove(world: World, desk: Desk, name: str, *, order: Order) -> None:
    """Run it no more, nor what is left of its backfill; unless a live node would only define it anew."""
    deployed = (await survey(world, desk)).deployed

    def judged(sheet: str, found: Job | None, word: Word) -> Step | None:
        if sheet != name:
            return None if found is None or found.gone is not None else replace(control.removed(found, word), acts=())
        job = known(name, found)
        if any(name in each.definitions for each in deployed):
            raise Refused("the code of a live node defines it: pause it instead, or delete it from the code")
        return control.removed(job, word)

    await carry_out(world, desk, [name, name + BACKFILL], judged, order=order)


async def listed(world: World, desk: Desk, *, prefix: str, after: str, limit: int) -> Sequence[Standing]:
    """The schedules whose names begin so and come after this one, by name; without those that are gone."""
    found = list[Standing]()
    while len(found) < limit:
        reading = await look(world, desk, desk.store.named(prefix, after, PAGE))
        jobs = [job for job in readable(reading.look.sheets) if job.belongs_to == job.name and job.gone is None]
        found += await _with_backfills(world, desk, jobs[: limit - len(found)])
        if len(reading.look.sheets) < PAGE:
            break
        after = _beyond_steps(reading.look.sheets[-1].name)
    return found


def _beyond_steps(sheet: str) -> str:
    """After which name the next page begins: a job may have very many steps, and none of them is a schedule."""
    job, is_step, _ = sheet.partition(STEP)
    return f"{job}{STEP}{LAST}" if is_step else sheet


async def _with_backfills(world: World, desk: Desk, jobs: Sequence[Job]) -> Sequence[Standing]:
    if not jobs:
        return ()
    reading = await look(world, desk, desk.store.sheets([job.name + BACKFILL for job in jobs]))
    beside = {each.belongs_to: each for each in readable(reading.look.sheets)}
    return [Standing(reading.look.now, job, beside.get(job.name)) for job in jobs]
