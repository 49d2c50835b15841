"""Who held what: asked of what was noted, and of what is held now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

from dibs.flows.asking import ask
from dibs.flows.journal import after
from dibs.flows.recording import record
from dibs.model.holding import ALL, ROUNDING, Holding, latest, moments_of, readable, tag_of
from dibs.model.sheet import Question
from dibs.model.spans import covering

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.views import LockView
    from dibs.ports.world import World

MOST_LIVE = 1_000
"""So many locks that are held now are looked at in one go."""
PAGE, MOST_PAGES = 500, 20
"""So many notes are read in one go, and so often, for the history of one lock."""


async def held_at(world: World, desk: Desk, moment: float, *, name: str | None = None) -> Sequence[Holding]:
    """Who held this lock, or anything at all, at a moment, runs of jobs included; by name, then by when it began.

    One that was not heard of again is among them while it may have held on.
    """
    from dibs.flows.querying import at_work  # noqa: PLC0415 - who takes a lock needs nothing of jobs

    await record(world, desk, desk.patience)
    noted = await _noted_at(world, desk, moment, name)
    live = await _live(world, desk, noted, name)
    found = [each for each in latest(noted, live) if each.covers(moment) or _is_now(each, moment)]
    found += await at_work(world, desk, moment, job=name)
    return sorted(found, key=lambda each: (each.name, each.since, each.fence))


async def holds_of(
    world: World, desk: Desk, name: str, *, since: float = -inf, until: float = inf, limit: int = 100
) -> Sequence[Holding]:
    """Who held this lock between two moments, the latest first."""
    await record(world, desk, desk.patience)
    noted = [] if until == inf else list(await _noted_at(world, desk, until, name))  # what ended after that
    question = Question(tag_of(name), since=since, until=until, limit=PAGE)
    for _ in range(MOST_PAGES):
        page = await ask(world, desk.store.lines(question), desk.patience)
        noted += readable(page)
        if len(page) < PAGE or len(latest(noted, ())) >= limit:
            break
        question = after(question, page)
    found = latest(noted, await _live(world, desk, noted, name))
    within = [each for each in found if each.since < until + ROUNDING and each.end > since - ROUNDING]
    return sorted(within, key=lambda each: (each.since, each.fence), reverse=True)[:limit]


def _is_now(each: Holding, moment: float) -> bool:
    """Whether it is held, and a moment is meant that only our own clock has reached."""
    return each.ended == "held" and each.since <= moment


async def _noted_at(world: World, desk: Desk, moment: float, name: str | None) -> Sequence[Holding]:
    found: list[Holding] = []
    for question in covering(ALL if name is None else moments_of(name), moment):
        found += readable(await ask(world, desk.store.lines(question), desk.patience))
    return found


async def _live(world: World, desk: Desk, noted: Sequence[Holding], name: str | None) -> Sequence[Holding]:
    """What the store says of now: of one lock; or of all, and if these are too many, of those that matter here."""
    if name is not None:
        return _holdings([await ask(world, desk.store.inspect(name), desk.patience)])
    views = list(await ask(world, desk.store.held("", MOST_LIVE), desk.patience))
    if len(views) == MOST_LIVE:
        others = sorted({each.name for each in noted if not each.is_over} - {view.name for view in views})
        views += [await ask(world, desk.store.inspect(other), desk.patience) for other in others]
    return _holdings(views)


def _holdings(views: Iterable[LockView]) -> Sequence[Holding]:
    return [
        Holding(view.name, held.who, held.fence, held.since, view.seen_at, "held", held.purpose)
        for view in views
        for held in view.holders
    ]
