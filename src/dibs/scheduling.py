"""How functions get a schedule."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack, cast, overload

from dibs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from dibs.config import Config
    from dibs.job import Job, JobMethod
    from dibs.jobs.body import Body
    from dibs.jobs.roster import Roster
    from dibs.jobs.terms import JobTerms
    from dibs.model.calendar import Rule
    from dibs.model.duration import Duration
    from dibs.run import Run
    from dibs.runtime.engine import Engine

P = ParamSpec("P")
Q = ParamSpec("Q")
T = TypeVar("T")
OwnerT = TypeVar("OwnerT")


class MakesAJob(Protocol):
    """A decorator that makes a function, or a method, a job."""

    @overload
    def __call__(self, function: Callable[[], T], /) -> Job[T]: ...
    @overload
    def __call__(self, function: Callable[[Run], T], /) -> Job[T]: ...
    @overload
    def __call__(self, function: Callable[[OwnerT], T], /) -> JobMethod[OwnerT, T]: ...
    @overload
    def __call__(self, function: Callable[[OwnerT, Run], T], /) -> JobMethod[OwnerT, T]: ...


if TYPE_CHECKING:
    T_co = TypeVar("T_co", covariant=True)

    class JobOf(Job[T_co], Generic[P, T_co]):
        """A job as type checkers know it: it can be called as its function, with or without a run in front."""

        @overload
        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...
        @overload
        def __call__(self, run: Run, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...
        def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...
        @overload
        def __get__(self, instance: None, owner: Any) -> Self: ...
        @overload
        def __get__(self: JobOf[Concatenate[OwnerT, Q], T], instance: OwnerT, owner: Any) -> JobOf[Q, T]: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...


class Names(Protocol):
    """A decorator that makes a function, or a method, a job without a schedule of its own."""

    @overload
    def __call__(self, function: Callable[Concatenate[Run, P], T], /) -> JobOf[P, T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> JobOf[P, T]: ...


class Scheduling:
    """What a client does for functions that are due by the clock."""

    _engine: Engine
    config: Config
    _roster: Roster | None = None
    _serves_in: int = 0
    """In which process it serves, if it does: a forked child does not."""

    def cron(
        self, expression: str, *, tz: str | tzinfo = "UTC", seconds: bool = False, **terms: Unpack[JobTerms]
    ) -> MakesAJob:
        """A decorator: each time that the expression names, one node of the fleet runs it: `@d.cron("0 3 * * *")`.

        For `def` and `async def`, and for methods (see `bind`). It may take a `dibs.Run`, and arguments that have
        defaults. Nothing is run before `d.serve()`. With `seconds`, the first of six fields is the second.
        """
        from dibs.rules import cron_rule  # noqa: PLC0415 - needed by few

        self._refuse_unfit("cron", terms, beside=frozenset({"tz", "seconds"}))
        rule = cron_rule(expression, tz=tz, seconds=seconds, jitter=terms.get("jitter", 0))
        return cast("MakesAJob", partial(self._scheduled, rule, terms))

    def every(self, period: Duration, **terms: Unpack[JobTerms]) -> MakesAJob:
        """A decorator: each time that so long has passed, counted from 1970, one node runs it: `@d.every("90s")`.

        Otherwise as with `cron`.
        """
        from dibs.rules import every_rule  # noqa: PLC0415 - needed by few

        self._refuse_unfit("every", terms, beside=frozenset())
        return cast("MakesAJob", partial(self._scheduled, every_rule(period, jitter=terms.get("jitter", 0)), terms))

    @overload
    def job(self, function: Callable[Concatenate[Run, P], T], /) -> JobOf[P, T]: ...
    @overload
    def job(self, function: Callable[P, T], /) -> JobOf[P, T]: ...
    @overload
    def job(self, /, **terms: Unpack[JobTerms]) -> Names: ...
    def job(self, function: Any = None, /, **terms: Unpack[JobTerms]) -> Any:
        """A decorator: a job without a schedule of its own: `@d.job`, or `@d.job(name="report")`.

        It is run when somebody triggers it, and by schedules that are added while the fleet is running. These give it
        its arguments: what it takes beside a `dibs.Run`, by name.
        """
        if isinstance(function, str):
            raise ConfigError(f"@d.job({function!r}): say what it is called by name={function!r}")
        if "jitter" in terms:
            raise ConfigError("jitter: a job without a schedule has no times to put off; say it where one is added")
        self._refuse_unfit("job", terms, beside=frozenset())
        return partial(self._scheduled, None, terms) if function is None else self._scheduled(None, terms, function)

    def bind(self, instance: T) -> T:
        """Have the methods of this instance run that are jobs; gives the instance back."""
        self._refuse_while_serving("bind(...)")
        self._jobs().bind(instance)
        return instance

    def _scheduled(self, rule: Rule | None, terms: JobTerms, function: Any) -> Any:
        from dibs.job import Job, JobMethod, Plan  # noqa: PLC0415 - needed by few
        from dibs.jobs.body import Body  # noqa: PLC0415 - needed by few

        self._refuse_while_serving(f"{function!r}")
        body = function.body if isinstance(function, Job | JobMethod) else Body.of(function)
        if rule is not None and body.needs:
            raise ConfigError(
                f"{body.about} cannot have a schedule here: its ticks bring no arguments, and {body.needs[0]!r} has no "
                "default. Give it one; or write @d.job above it, and add schedules that say what it is"
            )
        plan = Plan(self._engine.detours.for_jobs, rule, self._duty(rule, terms, body), _in_process(terms, body))
        job: Job[Any] | JobMethod[Any, Any] = JobMethod(plan, body) if body.is_method else Job(plan, body)
        self._jobs().add(job)
        return job

    def _duty(self, rule: Rule | None, terms: JobTerms, body: Body) -> Any:
        from dibs.flows.duty import Duty  # noqa: PLC0415 - needed by few
        from dibs.jobs.terms import checked_policy, checked_terms  # noqa: PLC0415 - needed by few

        usual = self._engine.detours.on_outage
        on_outage = checked_policy(terms, usual=usual)
        if on_outage == "local" and self._engine.detours.local.backend is self._engine.backend:
            on_outage = "closed"
        text = "" if rule is None else rule.text
        return Duty(_name(terms, body), text, checked_terms(terms, ttl=self.config.ttl), on_outage)

    def _jobs(self) -> Roster:
        from dibs.jobs.roster import Roster  # noqa: PLC0415 - needed by few

        if self._roster is None:
            self._roster = Roster()
        return self._roster

    def _refuse_unfit(self, what: str, terms: JobTerms, *, beside: frozenset[str]) -> None:
        """What is wrong with the terms is told where they are said."""
        from dibs.jobs.terms import checked_policy, checked_process, checked_terms, refuse_unknown  # noqa: PLC0415

        refuse_unknown(cast("Mapping[str, object]", terms), beside=beside)
        checked_terms(terms, ttl=self.config.ttl)
        checked_policy(terms, usual="closed")
        checked_process(terms)

    def _refuse_while_serving(self, what: str) -> None:
        if self._serves_in == os.getpid():
            raise ConfigError(f"{what}: this client serves already; define and bind all jobs before d.serve()")


def _name(terms: JobTerms, body: Body) -> str:
    from dibs.model.names import job_fault  # noqa: PLC0415 - needed by few

    name = terms.get("name") or body.name
    if name is None:
        raise ConfigError(f"{body.about} has no name of its own: give the job one with name=")
    if fault := job_fault(name):
        raise ConfigError(f"{name!r} names no job: {fault}")
    return name


def _in_process(terms: JobTerms, body: Body) -> bool:
    from dibs.jobs.terms import checked_process  # noqa: PLC0415 - needed by few

    if not checked_process(terms):
        return False
    from dibs.jobs.apart import apart_fault  # noqa: PLC0415 - needed by few

    if fault := apart_fault(body):
        raise ConfigError(f"process=True for {body.about}: {fault}")
    return True
