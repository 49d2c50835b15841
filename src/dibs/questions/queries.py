"""What people and pages can ask about jobs, runs and nodes, and about who held what."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.job import Job
    from dibs.questions.answers import Answers
    from dibs.questions.history import ActView, RunView, Timings
    from dibs.questions.holds import HoldView
    from dibs.questions.outlook import Forecast, NodeView
    from dibs.questions.pages import Page
    from dibs.questions.reasons import Why
    from dibs.runtime.engine import Engine

DOING = "look at what is known"

Moment: TypeAlias = datetime | float | str
"""A datetime with a time zone, epoch seconds, or text such as `"2026-03-01T02:13:00+01:00"`."""


class TimeSpan(TypedDict, total=False):
    """Of which time, both ends included."""

    since: Moment | None
    until: Moment | None


class Part(TimeSpan, total=False):
    """How much of it."""

    limit: int
    """So many at the most (default 100)."""


class PagePart(Part, total=False):
    """The same, page by page."""

    after: str | None
    """What the page before says as its `next`."""


class RunFilters(PagePart, total=False):
    """Which runs are meant."""

    state: str | None
    """ok, failed, timeout, lost, cancelled, skipped or missed."""
    node: str | None


class Queries:
    """What a client shows of all jobs of its namespace, whoever runs them."""

    _engine: Engine

    def runs(self, job: Job[Any] | str | None = None, **wanted: Unpack[RunFilters]) -> Page[RunView]:
        """What became of runs, the latest first: `d.runs("nightly", state="failed", since=yesterday)`.

        Times are those of ticks, but of a backfill, when it was done.
        """
        return run(self._here().runs(job, wanted))

    async def aruns(self, job: Job[Any] | str | None = None, **wanted: Unpack[RunFilters]) -> Page[RunView]:
        """What became of runs, the latest first: `d.runs("nightly", state="failed", since=yesterday)`.

        Times are those of ticks, but of a backfill, when it was done.
        """
        return await self._there().runs(job, wanted)

    def timings(self, job: Job[Any] | str | None = None, **time: Unpack[TimeSpan]) -> Timings:
        """How late the latest thousand runs of that time were begun, and how long they took."""
        return run(self._here().timings(job, time))

    async def atimings(self, job: Job[Any] | str | None = None, **time: Unpack[TimeSpan]) -> Timings:
        """How late the latest thousand runs of that time were begun, and how long they took."""
        return await self._there().timings(job, time)

    def upcoming(self, job: Job[Any] | str | None = None, **part: Unpack[Part]) -> Forecast:
        """What is to come from now on, or in that time: of all schedules, of one, or of those of one function."""
        return run(self._here().upcoming(job, part))

    async def aupcoming(self, job: Job[Any] | str | None = None, **part: Unpack[Part]) -> Forecast:
        """What is to come from now on, or in that time: of all schedules, of one, or of those of one function."""
        return await self._there().upcoming(job, part)

    def nodes(self) -> Sequence[NodeView]:
        """All who serve, or did within the last hour: how they are, and what they run and hold."""
        return run(self._here().nodes())

    async def anodes(self) -> Sequence[NodeView]:
        """All who serve, or did within the last hour: how they are, and what they run and hold."""
        return await self._there().nodes()

    def acts(self, job: Job[Any] | str | None = None, **part: Unpack[PagePart]) -> Page[ActView]:
        """Who did what to a job, or to all of them and the fleet, when and why, the latest first."""
        return run(self._here().acts(job, part))

    async def aacts(self, job: Job[Any] | str | None = None, **part: Unpack[PagePart]) -> Page[ActView]:
        """Who did what to a job, or to all of them and the fleet, when and why, the latest first."""
        return await self._there().acts(job, part)

    def why(self, job: Job[Any] | str, at: Moment) -> Why:
        """Why its tick at that moment, or the last one before it, did or did not run: `print(d.why("nightly", at))`."""
        return run(self._here().why(job, at))

    async def awhy(self, job: Job[Any] | str, at: Moment) -> Why:
        """Why its tick at that moment, or the last one before it, did or did not run: `print(d.why("nightly", at))`."""
        return await self._there().why(job, at)

    def held_at(self, moment: Moment, name: str | None = None) -> Sequence[HoldView]:
        """Who held this lock, or anything at all, at a moment, runs of jobs included; by name.

        This client is asked up to now, others tell the store every ten seconds or so. Noted are the last 30 days.
        """
        return run(self._here(self._engine).held_at(moment, name))

    async def aheld_at(self, moment: Moment, name: str | None = None) -> Sequence[HoldView]:
        """Who held this lock, or anything at all, at a moment, runs of jobs included; by name.

        This client is asked up to now, others tell the store every ten seconds or so. Noted are the last 30 days.
        """
        return await self._there(self._engine).held_at(moment, name)

    def lock_history(self, name: str, **part: Unpack[Part]) -> Sequence[HoldView]:
        """Who held this lock, or did in that time, the latest first."""
        return run(self._here(self._engine).lock_history(name, part))

    async def alock_history(self, name: str, **part: Unpack[Part]) -> Sequence[HoldView]:
        """Who held this lock, or did in that time, the latest first."""
        return await self._there(self._engine).lock_history(name, part)

    def _here(self, engine: Engine | None = None) -> Answers:
        from dibs.questions.answers import Answers  # noqa: PLC0415 - needed by few

        engine = engine or self._engine.detours.for_jobs
        return Answers(engine.blocking(DOING), engine.desk)

    def _there(self, engine: Engine | None = None) -> Answers:
        from dibs.questions.answers import Answers  # noqa: PLC0415 - needed by few

        engine = engine or self._engine.detours.for_jobs
        return Answers(engine.aio(DOING), engine.desk)
