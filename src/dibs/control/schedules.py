"""Schedules by name, whether code or data has defined them: added, changed and removed while the fleet runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack, cast

from dibs.control import verbs
from dibs.control.backfill import Backfill, preview
from dibs.control.definitions import ChangedTerms, ScheduleTerms, changed_definition, new_definition
from dibs.control.errand import Errand, checked_job, checked_order
from dibs.control.views import ScheduleView, schedule_view
from dibs.errors import ConfigError
from dibs.flows import controlling, defining
from dibs.model.duration import Duration
from dibs.options import checked_text

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.jobs.body import Body
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

Until = Duration | datetime | None
MOST_LISTED = 1_000


class _Control:
    """What can be done to each by its name. `by` says who wants it, if it is not this process, and `reason` why."""

    def __init__(self, engine: Engine, body_of: Callable[[str], Body | None], *, ttl: float) -> None:
        self._engine, self._body_of, self._ttl = engine, body_of, ttl

    def pause(self, name: str, *, until: Until = None, reason: str = "", by: str = "") -> None:
        """Run no tick of it for so long, until that moment, or until it is resumed. What was begun goes on."""
        verbs.pause(name, until=until, by=by, reason=reason).run(self._engine)

    async def apause(self, name: str, *, until: Until = None, reason: str = "", by: str = "") -> None:
        """Run no tick of it for so long, until that moment, or until it is resumed. What was begun goes on."""
        await verbs.pause(name, until=until, by=by, reason=reason).arun(self._engine)

    def resume(self, name: str, *, reason: str = "", by: str = "") -> None:
        """Run its ticks again, from now on: those of the pause are not caught up with."""
        verbs.resume(name, by=by, reason=reason).run(self._engine)

    async def aresume(self, name: str, *, reason: str = "", by: str = "") -> None:
        """Run its ticks again, from now on: those of the pause are not caught up with."""
        await verbs.resume(name, by=by, reason=reason).arun(self._engine)

    def trigger(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", by: str = ""
    ) -> datetime:
        """Have it run now, by one node, also while it is paused; gives the tick by which the history knows that run."""
        return self._trigger(name, arguments, reason, by).run(self._engine)

    async def atrigger(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", by: str = ""
    ) -> datetime:
        """Have it run now, by one node, also while it is paused; gives the tick by which the history knows that run."""
        return await self._trigger(name, arguments, reason, by).arun(self._engine)

    def skip_next(self, name: str, *, reason: str = "", by: str = "") -> datetime:
        """Do not run its next tick; gives which that is."""
        return verbs.skip_next(name, by=by, reason=reason).run(self._engine)

    async def askip_next(self, name: str, *, reason: str = "", by: str = "") -> datetime:
        """Do not run its next tick; gives which that is."""
        return await verbs.skip_next(name, by=by, reason=reason).arun(self._engine)

    def cancel(self, name: str, tick: datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Have its runs stopped, or those of one tick; what waits is not begun."""
        verbs.cancel(name, tick=tick, by=by, reason=reason).run(self._engine)

    async def acancel(self, name: str, tick: datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Have its runs stopped, or those of one tick; what waits is not begun."""
        await verbs.cancel(name, tick=tick, by=by, reason=reason).arun(self._engine)

    def backfill(self, name: str, since: datetime, until: datetime) -> Backfill:
        """Its ticks from then to then, both included, to be looked at and started."""
        return preview(self._engine, name, since, until).run(self._engine)

    async def abackfill(self, name: str, since: datetime, until: datetime) -> Backfill:
        """Its ticks from then to then, both included, to be looked at and started."""
        return await preview(self._engine, name, since, until).arun(self._engine)

    def stop_backfill(self, name: str, *, reason: str = "", by: str = "") -> None:
        """Have no more ticks of times past run, and those under way stopped."""
        verbs.stop_backfill(name, by=by, reason=reason).run(self._engine)

    async def astop_backfill(self, name: str, *, reason: str = "", by: str = "") -> None:
        """Have no more ticks of times past run, and those under way stopped."""
        await verbs.stop_backfill(name, by=by, reason=reason).arun(self._engine)

    def _trigger(self, name: str, arguments: Mapping[str, Any] | None, reason: str, by: str) -> Errand[datetime]:
        return verbs.trigger(name, arguments=arguments, by=by, reason=reason, fit=self._fit)

    def _fit(self, function: str, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that a function does not take; which only other processes know is theirs to say."""
        body = self._body_of(function)
        if body is not None and (fault := body.fault_of(arguments)):
            raise ConfigError(f"arguments={dict(arguments)!r} do not fit {body.about}: {fault}")


class Schedules(_Control):
    """All schedules of a namespace, by name: `d.schedules`."""

    def add(self, name: str, *, reason: str = "", by: str = "", **said: Unpack[ScheduleTerms]) -> None:
        """A new schedule of a function that nodes serve: `add("berlin", job="report", cron="0 3 * * *")`."""
        self._add(name, said, reason, by).run(self._engine)

    async def aadd(self, name: str, *, reason: str = "", by: str = "", **said: Unpack[ScheduleTerms]) -> None:
        """A new schedule of a function that nodes serve: `add("berlin", job="report", cron="0 3 * * *")`."""
        await self._add(name, said, reason, by).arun(self._engine)

    def add_all(self, said: Mapping[str, ScheduleTerms], *, reason: str = "", by: str = "") -> int:
        """Many new schedules; those that are there just so are left alone. Gives how many were new.

        It is done in batches: who was refused or not answered in the middle says all of it again.
        """
        return self._add_all(said, reason, by).run(self._engine)

    async def aadd_all(self, said: Mapping[str, ScheduleTerms], *, reason: str = "", by: str = "") -> int:
        """Many new schedules; those that are there just so are left alone. Gives how many were new.

        It is done in batches: who was refused or not answered in the middle says all of it again.
        """
        return await self._add_all(said, reason, by).arun(self._engine)

    def change(self, name: str, *, reason: str = "", by: str = "", **said: Unpack[ChangedTerms]) -> None:
        """Have it otherwise from now on: what is not said stays. Nothing fires by what held before, once this returns.

        What code has defined can be changed, too: that holds until code that says something new is deployed.
        """
        self._change(name, said, reason, by).run(self._engine)

    async def achange(self, name: str, *, reason: str = "", by: str = "", **said: Unpack[ChangedTerms]) -> None:
        """Have it otherwise from now on: what is not said stays. Nothing fires by what held before, once this returns.

        What code has defined can be changed, too: that holds until code that says something new is deployed.
        """
        await self._change(name, said, reason, by).arun(self._engine)

    def remove(self, name: str, *, reason: str = "", by: str = "") -> None:
        """Run it no more. What was begun goes on, and its history is kept for as long as ever."""
        self._remove(name, reason, by).run(self._engine)

    async def aremove(self, name: str, *, reason: str = "", by: str = "") -> None:
        """Run it no more. What was begun goes on, and its history is kept for as long as ever."""
        await self._remove(name, reason, by).arun(self._engine)

    def get(self, name: str) -> ScheduleView | None:
        """How it stands; `None` if there is none of that name."""
        return self._get(name).run(self._engine)

    async def aget(self, name: str) -> ScheduleView | None:
        """How it stands; `None` if there is none of that name."""
        return await self._get(name).arun(self._engine)

    def list(self, prefix: str = "", *, after: str = "", limit: int = 100) -> Sequence[ScheduleView]:
        """Those whose names begin so, by name, the first after that one; without those that are gone."""
        return self._list(prefix, after, limit).run(self._engine)

    async def alist(self, prefix: str = "", *, after: str = "", limit: int = 100) -> Sequence[ScheduleView]:
        """Those whose names begin so, by name, the first after that one; without those that are gone."""
        return await self._list(prefix, after, limit).arun(self._engine)

    # The errands, in either colour.

    def _add(self, name: str, said: ScheduleTerms, reason: str, by: str) -> Errand[None]:
        definition = new_definition(name, said, ttl=self._ttl, fit=self._fit)
        order = checked_order("add", by, reason)

        async def flow(world: World, desk: Desk) -> None:
            await defining.add(world, desk, definition, order=order)

        return Errand("add a schedule", flow)

    def _add_all(self, said: Mapping[str, ScheduleTerms], reason: str, by: str) -> Errand[int]:
        _refuse_unnamed(said)
        new = [new_definition(name, each, ttl=self._ttl, fit=self._fit) for name, each in said.items()]
        order = checked_order("add", by, reason)

        async def flow(world: World, desk: Desk) -> int:
            return await defining.add_all(world, desk, new, order=order)

        return Errand("add schedules", flow)

    def _change(self, name: str, said: ChangedTerms, reason: str, by: str) -> Errand[None]:
        otherwise = changed_definition(checked_job(name), said, fit=self._fit)
        order = checked_order("change", by, reason)

        async def flow(world: World, desk: Desk) -> None:
            await defining.change(world, desk, name, otherwise, order=order)

        return Errand("change a schedule", flow)

    def _remove(self, name: str, reason: str, by: str) -> Errand[None]:
        order = checked_order("remove", by, reason)

        async def flow(world: World, desk: Desk) -> None:
            await defining.remove(world, desk, checked_job(name), order=order)

        return Errand("remove a schedule", flow)

    def _get(self, name: str) -> Errand[ScheduleView | None]:
        job = checked_job(name)

        async def flow(world: World, desk: Desk) -> ScheduleView | None:
            found = await controlling.find(world, desk, job)
            return None if found is None else schedule_view(found)

        return Errand("look at a schedule", flow)

    def _list(self, prefix: str, after: str, limit: object) -> Errand[Sequence[ScheduleView]]:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LISTED:
            raise ConfigError(f"limit={limit!r}: say how many, from 1 to {MOST_LISTED}; after= gives the next ones")
        most, begins, last = limit, checked_text("prefix", prefix), checked_text("after", after)

        async def flow(world: World, desk: Desk) -> Sequence[ScheduleView]:
            found = await defining.listed(world, desk, prefix=begins, after=last, limit=most)
            return [schedule_view(each) for each in found]

        return Errand("list schedules", flow)


def _refuse_unnamed(said: object) -> None:
    """Many are said by name, each with its options."""
    each = cast("Mapping[object, object]", said).values() if isinstance(said, Mapping) else [said]
    if not isinstance(said, Mapping) or not all(isinstance(options, Mapping) for options in each):
        raise ConfigError("give each by its name, as in add_all({'paris': {'job': 'report', 'every': '1h'}})")
