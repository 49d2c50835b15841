"""A function with a schedule. It can still be called, and says when it is due and what became of its runs."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from dibs.control.stepwise import Stepwise
from dibs.errors import ConfigError
from dibs.flows import journal
from dibs.model.calendar import Rule
from dibs.model.job import calendar_of
from dibs.model.sheet import Question
from dibs.model.value import value
from dibs.questions.history import RunView, run_view
from dibs.run import Run
from dibs.runtime.blocking import run as run_flow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.flows.duty import Duty, Underway
    from dibs.jobs.body import Body
    from dibs.model.record import Record
    from dibs.runtime.crew import Part
    from dibs.runtime.engine import Engine

T_co = TypeVar("T_co", covariant=True)
OwnerT = TypeVar("OwnerT")

DOING = "read a job's history"
MOST_SHOWN = 10_000
UNSCHEDULED = "no schedule of its own"


@value
class Plan:
    """What was said of a job where it was defined."""

    engine: Engine
    rule: Rule | None
    """`None`, if it has no schedule of its own."""
    duty: Duty
    process: bool

    @property
    def zone(self) -> tzinfo:
        """In which zone its times are told."""
        return UTC if self.rule is None else self.rule.tz


class Job(Stepwise, Generic[T_co]):
    """A function that is run by a schedule, once for each tick in the whole fleet, while somebody serves."""

    def __init__(self, plan: Plan, body: Body) -> None:
        self._plan, self.body = plan, body
        update_wrapper(cast("Any", self), body.function)

    @property
    def name(self) -> str:
        """What it is called in the whole fleet."""
        return self._plan.duty.name

    @property
    def rule(self) -> str:
        """When it is due, in a line: `"cron 0 3 * * * Europe/Berlin"`; empty if it has no schedule of its own."""
        return self._plan.duty.rule

    @property
    def duty(self) -> Duty:
        """By which rule and on which terms it is run."""
        return self._plan.duty

    @property
    def zone(self) -> tzinfo:
        """In which time zone its times are told."""
        return self._plan.zone

    @property
    def process(self) -> bool:
        """Whether each run has a process of its own."""
        return self._plan.process

    @overload
    def __call__(self, /, **arguments: Any) -> T_co: ...
    @overload
    def __call__(self, run: Run, /, **arguments: Any) -> T_co: ...
    def __call__(self, /, *args: Any, **arguments: Any) -> T_co:
        """Call the bare body, here and now. One that wants a run gets one of no tick, without a lease or a fence."""
        body, given = self.body, [each for each in args if isinstance(each, Run)]
        if given and body.run is None:
            raise TypeError(f"{body.about.name}() takes no run")
        run = given[0] if given else Run.detached(self.name, zone=self.zone, logger=body.module)
        result: T_co = body.call_by_hand(run, [each for each in args if each is not run], arguments)
        return result

    def next(self, count: int = 1) -> Sequence[datetime]:
        """The next times at which it is due, by this machine's clock; fewer, if there are no more."""
        wanted = _so_many("count", count)
        times, rule = list[datetime](), self._plan.rule
        tick = None if rule is None else rule.after(time.time())
        while rule is not None and tick is not None and len(times) < wanted:
            times.append(datetime.fromtimestamp(tick, self.zone))
            tick = rule.after(tick)
        return times

    def history(self, limit: int = 100) -> Sequence[RunView]:
        """What became of its runs on all nodes, the latest first."""
        engine = self._plan.engine
        return self._viewed(run_flow(journal.runs(engine.blocking(DOING), engine.desk, self._wanted(limit))))

    async def ahistory(self, limit: int = 100) -> Sequence[RunView]:
        """What became of its runs on all nodes, the latest first."""
        engine = self._plan.engine
        return self._viewed(await journal.runs(engine.aio(DOING), engine.desk, self._wanted(limit)))

    def part(self) -> Part:
        """How it is done for a run."""
        from dibs.jobs import performance  # noqa: PLC0415 - only those who serve need it, and an event loop with it
        from dibs.runtime.crew import Part  # noqa: PLC0415

        if self.process:
            from dibs.jobs.apart import performer  # noqa: PLC0415 - needed by few

            return Part(perform=performer(self))
        if self.body.about.is_async:
            return Part(aperform=lambda mine: performance.aperform(mine, self.run_of(mine), self.body.call))
        return Part(perform=lambda mine: performance.perform(mine, self.run_of(mine), self.body.call))

    def run_of(self, mine: Underway) -> Run:
        """What its body learns of a run."""
        return Run(mine, zone=self.zone_of(mine), logger=self.body.module)

    def zone_of(self, mine: Underway) -> tzinfo:
        """In which time zone the times of a run are told: its schedule's, which may be another than this job's own."""
        return calendar_of(mine.rule).tz if mine.rule else self.zone

    def __repr__(self) -> str:
        return f"<Job {self.name!r}: {self.rule or UNSCHEDULED}>"

    @property
    def _engine(self) -> Engine:
        return self._plan.engine

    def _fit(self, function: str, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that its body does not take; others may have changed which function does it."""
        fault = self.body.fault_of(arguments) if function == self.name else None
        if fault:
            raise ConfigError(f"arguments={dict(arguments)!r} do not fit {self.body.about}: {fault}")

    def _wanted(self, limit: int) -> Question:
        return Question(self.name, limit=_so_many("limit", limit))

    def _viewed(self, found: Sequence[tuple[str, Record]]) -> Sequence[RunView]:
        return [run_view(sheet, record, self.zone) for sheet, record in found]


class JobMethod(Generic[OwnerT, T_co]):
    """A method with a schedule. It is not run before `d.bind(instance)` says of which instance."""

    def __init__(self, plan: Plan, body: Body) -> None:
        self.plan, self.body = plan, body
        update_wrapper(cast("Any", self), body.function)

    @property
    def name(self) -> str:
        """What it is called in the whole fleet."""
        return self.plan.duty.name

    @overload
    def __get__(self, instance: None, owner: type[OwnerT]) -> Self: ...
    @overload
    def __get__(self, instance: OwnerT, owner: type[OwnerT] | None = None) -> Job[T_co]: ...
    def __get__(self, instance: OwnerT | None, owner: type[OwnerT] | None = None) -> Self | Job[T_co]:
        return self if instance is None else Job(self.plan, self.body.bound(instance))

    def __call__(self, instance: OwnerT, /, *args: Any, **arguments: Any) -> T_co:
        """Call the bare body of an instance, here and now."""
        job: Job[T_co] = Job(self.plan, self.body.bound(instance))
        return job(*args, **arguments)

    def __repr__(self) -> str:
        return f"<JobMethod {self.name!r}: {self.plan.duty.rule or UNSCHEDULED}>"


def _so_many(option: str, number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_SHOWN:
        raise ConfigError(f"{option}={number!r}: say how many, from 1 to {MOST_SHOWN}")
    return number
