"""Ticks of times past, to be looked at before they are run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from dibs.control.errand import Errand, checked_job, checked_moment, checked_order, told, zone_of
from dibs.errors import ConfigError
from dibs.flows import controlling
from dibs.flows.controlling import Span
from dibs.model.control import MOST_FILLED_IN, ticks_between

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

MOST_SHOWN = 1_000
MOST_AT_ONCE = 100


class Backfill:
    """The ticks of a job in a time past. Nothing is run before `start`."""

    def __init__(self, engine: Engine, job: str, span: Span, ticks: Sequence[datetime], *, count: int) -> None:
        self._engine, self._span = engine, span
        self.job, self.ticks, self.count = job, ticks, count

    job: str
    ticks: Sequence[datetime]
    """In their order; the first 1,000."""
    count: int
    """How many there are in all; it is not counted on above 100,000, as no backfill may have more."""

    def start(self, parallel: int = 1, *, by: str = "", reason: str = "") -> None:
        """Have them run, each once, in their order, so many at a time in the whole fleet."""
        self._begun(parallel, by, reason).run(self._engine)

    async def astart(self, parallel: int = 1, *, by: str = "", reason: str = "") -> None:
        """Have them run, each once, in their order, so many at a time in the whole fleet."""
        await self._begun(parallel, by, reason).arun(self._engine)

    def _begun(self, parallel: object, by: str, reason: str) -> Errand[None]:
        order, at_once = checked_order("backfill", by, reason), _checked_parallel(parallel)
        span = Span(self._span.rule, self._span.since, self._span.until, at_once)

        async def flow(world: World, desk: Desk) -> None:
            await controlling.fill_in(world, desk, self.job, span, order=order)

        return Errand("start a backfill", flow)

    def __repr__(self) -> str:
        return f"<Backfill of {self.job!r}: {self.count} ticks>"


def preview(engine: Engine, name: str, since: datetime, until: datetime) -> Errand[Backfill]:
    """Which ticks of a job there are from then to then, both included."""
    job, first, last = checked_job(name), checked_moment("since", since), checked_moment("until", until)
    if first > last:
        raise ConfigError(f"since={since!r}, until={until!r}: name the earlier one first")

    async def flow(world: World, desk: Desk) -> Backfill:
        standing = await controlling.find(world, desk, job)
        found = controlling.known(job, None if standing is None else standing.job)
        ticks = ticks_between(found, first, last, most=MOST_FILLED_IN + 1)
        shown = [told(tick, zone_of(found)) for tick in ticks[:MOST_SHOWN]]
        return Backfill(engine, job, Span(found.rule, first, last), shown, count=len(ticks))

    return Errand("look at a backfill", flow)


def _checked_parallel(parallel: object) -> int:
    if isinstance(parallel, bool) or not isinstance(parallel, int) or not 1 <= parallel <= MOST_AT_ONCE:
        raise ConfigError(f"parallel={parallel!r}: say how many at a time, from 1 to {MOST_AT_ONCE}")
    return parallel
