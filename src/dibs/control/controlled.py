"""How a job is controlled by those who have it in hand: the same as by its name (`d.schedules`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from dibs.control.backfill import Backfill
    from dibs.control.errand import Errand
    from dibs.model.duration import Duration
    from dibs.runtime.engine import Engine


class Controlled(ABC):
    """A job that can be paused, triggered and cancelled in the whole fleet, once somebody has served it.

    `by` says who wants it, if it is not this process, and `reason` why: both are kept in its history.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in the whole fleet."""

    @property
    @abstractmethod
    def _engine(self) -> Engine:
        """Where it is known."""

    @abstractmethod
    def _fit(self, function: str, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that its function does not take."""

    def pause(self, until: Duration | datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Run no tick of it for so long, until that moment, or until it is resumed. What was begun goes on."""
        self._pause(until, reason, by).run(self._engine)

    async def apause(self, until: Duration | datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Run no tick of it for so long, until that moment, or until it is resumed. What was begun goes on."""
        await self._pause(until, reason, by).arun(self._engine)

    def resume(self, *, reason: str = "", by: str = "") -> None:
        """Run its ticks again, from now on: those of the pause are not caught up with."""
        self._resume(reason, by).run(self._engine)

    async def aresume(self, *, reason: str = "", by: str = "") -> None:
        """Run its ticks again, from now on: those of the pause are not caught up with."""
        await self._resume(reason, by).arun(self._engine)

    def trigger(self, arguments: Mapping[str, Any] | None = None, *, reason: str = "", by: str = "") -> datetime:
        """Have it run now, by one node, also while it is paused; gives the tick by which the history knows that run."""
        return self._trigger(arguments, reason, by).run(self._engine)

    async def atrigger(self, arguments: Mapping[str, Any] | None = None, *, reason: str = "", by: str = "") -> datetime:
        """Have it run now, by one node, also while it is paused; gives the tick by which the history knows that run."""
        return await self._trigger(arguments, reason, by).arun(self._engine)

    def skip_next(self, *, reason: str = "", by: str = "") -> datetime:
        """Do not run its next tick; gives which that is."""
        return self._skip_next(reason, by).run(self._engine)

    async def askip_next(self, *, reason: str = "", by: str = "") -> datetime:
        """Do not run its next tick; gives which that is."""
        return await self._skip_next(reason, by).arun(self._engine)

    def cancel(self, tick: datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Have its runs stopped, or those of one tick; what waits is not begun."""
        self._cancel(tick, reason, by).run(self._engine)

    async def acancel(self, tick: datetime | None = None, *, reason: str = "", by: str = "") -> None:
        """Have its runs stopped, or those of one tick; what waits is not begun."""
        await self._cancel(tick, reason, by).arun(self._engine)

    def backfill(self, since: datetime, until: datetime) -> Backfill:
        """Its ticks from then to then, both included, to be looked at and started."""
        return self._backfill(since, until).run(self._engine)

    async def abackfill(self, since: datetime, until: datetime) -> Backfill:
        """Its ticks from then to then, both included, to be looked at and started."""
        return await self._backfill(since, until).arun(self._engine)

    def stop_backfill(self, *, reason: str = "", by: str = "") -> None:
        """Have no more ticks of times past run, and those under way stopped."""
        self._stop_backfill(reason, by).run(self._engine)

    async def astop_backfill(self, *, reason: str = "", by: str = "") -> None:
        """Have no more ticks of times past run, and those under way stopped."""
        await self._stop_backfill(reason, by).arun(self._engine)

    # The errands, in either colour.

    def _pause(self, until: Duration | datetime | None, reason: str, by: str) -> Errand[None]:
        from dibs.control import verbs  # noqa: PLC0415 - here and below: needed by few

        return verbs.pause(self.name, until=until, by=by, reason=reason)

    def _resume(self, reason: str, by: str) -> Errand[None]:
        from dibs.control import verbs  # noqa: PLC0415

        return verbs.resume(self.name, by=by, reason=reason)

    def _trigger(self, arguments: Mapping[str, Any] | None, reason: str, by: str) -> Errand[datetime]:
        from dibs.control import verbs  # noqa: PLC0415

        return verbs.trigger(self.name, arguments=arguments, by=by, reason=reason, fit=self._fit)

    def _skip_next(self, reason: str, by: str) -> Errand[datetime]:
        from dibs.control import verbs  # noqa: PLC0415

        return verbs.skip_next(self.name, by=by, reason=reason)

    def _cancel(self, tick: datetime | None, reason: str, by: str) -> Errand[None]:
        from dibs.control import verbs  # noqa: PLC0415

        return verbs.cancel(self.name, tick=tick, by=by, reason=reason)

    def _backfill(self, since: datetime, until: datetime) -> Errand[Backfill]:
        from dibs.control.backfill import preview  # noqa: PLC0415

        return preview(self._engine, self.name, since, until)

    def _stop_backfill(self, reason: str, by: str) -> Errand[None]:
        from dibs.control import verbs  # noqa: PLC0415

        return verbs.stop_backfill(self.name, by=by, reason=reason)
