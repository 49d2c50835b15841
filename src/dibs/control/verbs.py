"""What people may do to a job, each as an errand: by its name, whoever asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dibs.control.errand import (
    Errand,
    checked_arguments,
    checked_job,
    checked_moment,
    checked_order,
    checked_until,
    told,
    zone_of,
)
from dibs.control.views import PauseView, pause_view
from dibs.flows import controlling
from dibs.model import control

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.control import Word
    from dibs.model.duration import Duration
    from dibs.model.job import Job
    from dibs.model.rota import Step
    from dibs.ports.world import World

Fit = Callable[[str, Mapping[str, Any]], None]
"""Refuses arguments that a function does not take, as far as this process knows it."""


def pause(name: str, *, until: Duration | datetime | None, by: str, reason: str) -> Errand[None]:
    """Run no tick of it for a while."""
    job, order, over_at = checked_job(name), checked_order("pause", by, reason), checked_until(until)

    def judge(found: Job, word: Word) -> Step:
        return control.paused(found, word, until=over_at(word.at))

    async def flow(world: World, desk: Desk) -> None:
        await controlling.act(world, desk, job, judge, order=order)

    return Errand("pause a job", flow)


def resume(name: str, *, by: str, reason: str) -> Errand[None]:
    """Run its ticks again, from now on."""
    job, order = checked_job(name), checked_order("resume", by, reason)

    async def flow(world: World, desk: Desk) -> None:
        await controlling.act(world, desk, job, control.resumed, order=order)

    return Errand("resume a job", flow)


def trigger(name: str, *, arguments: Mapping[str, Any] | None, by: str, reason: str, fit: Fit) -> Errand[datetime]:
    """Run it once more than its schedule says; gives the tick of that run."""
    job, order, text = checked_job(name), checked_order("trigger", by, reason), checked_arguments(arguments)

    def judge(found: Job, word: Word) -> Step:
        fit(found.done_by, json.loads(text or found.arguments or "{}"))
        return control.triggered(found, word, arguments=text)

    async def flow(world: World, desk: Desk) -> datetime:
        after = (await controlling.act(world, desk, job, judge, order=order)).job
        return told(after.runs[-1].tick, zone_of(after))

    return Errand("trigger a job", flow)


def skip_next(name: str, *, by: str, reason: str) -> Errand[datetime]:
    """Do not run its next tick; gives which that is."""
    job, order = checked_job(name), checked_order("skip the next tick of", by, reason)

    async def flow(world: World, desk: Desk) -> datetime:
        step = await controlling.act(world, desk, job, control.without_next, order=order)
        return told(step.records[0].tick, zone_of(step.job))

    return Errand("skip a tick of a job", flow)


def cancel(name: str, *, tick: datetime | None, by: str, reason: str) -> Errand[None]:
    """Have its runs stopped, or those of one tick."""
    job, order = checked_job(name), checked_order("cancel", by, reason)
    at = None if tick is None else checked_moment("tick", tick)

    def judge(found: Job, word: Word) -> Step:
        return control.cancelled(found, word, tick=at)

    async def flow(world: World, desk: Desk) -> None:
        await controlling.act(world, desk, job, judge, order=order)

    return Errand("cancel a run", flow)


def stop_backfill(name: str, *, by: str, reason: str) -> Errand[None]:
    """Have no more ticks of times past run, and those under way stopped."""
    job, order = checked_job(name), checked_order("stop the backfill of", by, reason)

    async def flow(world: World, desk: Desk) -> None:
        await controlling.give_up(world, desk, job, order=order)

    return Errand("stop a backfill", flow)


# The whole fleet.


def freeze(*, until: Duration | datetime | None, by: str, reason: str) -> Errand[None]:
    """Let nobody claim anything."""
    order, over_at = checked_order("freeze", by, reason), checked_until(until)

    async def flow(world: World, desk: Desk) -> None:
        await controlling.freeze(world, desk, over_at, order=order)

    return Errand("freeze the fleet", flow)


def thaw(*, by: str, reason: str) -> Errand[None]:
    """Let everybody go on."""
    order = checked_order("thaw", by, reason)

    async def flow(world: World, desk: Desk) -> None:
        await controlling.thaw(world, desk, order=order)

    return Errand("thaw the fleet", flow)


def frozen() -> Errand[PauseView | None]:
    """Whether the fleet is frozen, and why."""

    async def flow(world: World, desk: Desk) -> PauseView | None:
        found = await controlling.freezing(world, desk)
        return None if found is None else pause_view(found)

    return Errand("look whether the fleet is frozen", flow)
