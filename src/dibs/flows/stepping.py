"""How steps are submitted and looked at: each is a sheet, found by the name of its job and its own id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dibs.errors import ActRefused
from dibs.flows.controlling import NEWER, carry_out
from dibs.flows.sheets import look, readable
from dibs.model.job import Job
from dibs.model.names import STEP
from dibs.model.steps import Submission, sheet_of, submitted

if TYPE_CHECKING:
    from dibs.flows.controlling import Order
    from dibs.flows.desk import Desk
    from dibs.model.control import Word
    from dibs.model.rota import Step
    from dibs.ports.world import World

PAGE = 500


async def submit(world: World, desk: Desk, said: Submission, *, order: Order) -> Job:
    """The step as it stands: as it was submitted now, or before. Whoever was not answered may submit it again."""
    there = list[Job]()

    def judged(_: str, found: Job | None, word: Word) -> Step | None:
        there[:] = [] if found is None else [found]
        return submitted(found, said, word)

    new = await carry_out(world, desk, [said.sheet], judged, order=order)
    return [*there, *(step.job for step in new)][0]


async def find(world: World, desk: Desk, job: str, step: str) -> Job | None:
    """A step as it stands; `None` if the store does not know it, or not any more."""
    reading = await look(world, desk, desk.store.sheets([sheet_of(job, step)]))
    found = next(iter(readable(reading.look.sheets)), None)
    if found is None and reading.look.sheets:
        raise ActRefused(job, asked=f"show step {step!r} of", why=NEWER)
    return found


async def listed(world: World, desk: Desk, job: str, *, after: str, limit: int) -> Sequence[Job]:
    """The steps of a job whose ids come after this one, by id."""
    found, prefix, page = list[Job](), job + STEP, sheet_of(job, after)
    while len(found) < limit:
        reading = await look(world, desk, desk.store.named(prefix, page, min(limit, PAGE)))
        found += readable(reading.look.sheets)
        if len(reading.look.sheets) < min(limit, PAGE):
            break
        page = reading.look.sheets[-1].name
    return found[:limit]
