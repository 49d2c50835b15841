"""What people may say of a schedule as data, and whether it makes sense."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Required, TypeAlias, cast

from dibs.control.errand import checked_arguments, checked_job
from dibs.errors import ConfigError
from dibs.job import Job, JobMethod
from dibs.jobs.terms import RunTerms, checked_terms
from dibs.model.calendar import Cron, Every
from dibs.model.calendar.text import MINUTES
from dibs.model.definition import Definition, definition_of
from dibs.model.job import Terms
from dibs.rules import cron_rule, every_rule

if TYPE_CHECKING:
    from dibs.control.verbs import Fit
    from dibs.model.calendar import Rule
    from dibs.model.duration import Duration
    from dibs.model.job import Job as Kept

SAID_OTHERWISE = {"catch_up_limit": "most"}
"""What goes by another name within."""
OF_A_RULE = ("cron", "every", "tz", "seconds", "jitter")


class ChangedTerms(RunTerms, total=False):
    """The keywords of a schedule that is there: what is not said stays as it is."""

    cron: str
    """When it is due: an expression or a macro, as in `d.cron`."""
    every: Duration
    """Or how often, as in `d.every`."""
    tz: str | tzinfo
    """The time zone of the expression (default UTC)."""
    seconds: bool
    """Whether the first of its six fields is the second."""
    arguments: Mapping[str, Any] | None
    """What the function is called with, by name, as JSON keeps it."""


Named: TypeAlias = str | Job[Any] | JobMethod[Any, Any]


class ScheduleTerms(ChangedTerms, total=False):
    """The keywords of a new schedule."""

    job: Required[Named]
    """Which function does it, by the name that the fleet knows it by."""


def new_definition(name: str, said: ScheduleTerms, *, ttl: float, fit: Fit) -> Definition:
    """What is said of a schedule that is new; a `ConfigError` names what is wrong and what would be right."""
    _refuse_unfit(name, said, ScheduleTerms.__annotations__.keys())
    function, arguments = _function(name, said.get("job")), checked_arguments(said.get("arguments"))
    fit(function, said.get("arguments") or {})
    terms = checked_terms(said, ttl=ttl)
    return Definition(checked_job(name), _rule(name, said).text, terms, function, arguments)


def changed_definition(name: str, said: ChangedTerms, *, fit: Fit) -> Callable[[Kept], Definition]:
    """What is said of a schedule that is there, given what holds of it."""
    _refuse_unfit(name, said, ChangedTerms.__annotations__.keys())
    if not said:
        raise ConfigError(f"change({name!r}): say what is to be otherwise, as in cron='0 4 * * *'")
    arguments, terms = checked_arguments(said.get("arguments")), checked_terms(said, ttl=Terms().ttl)
    said_of = {SAID_OTHERWISE.get(option, option) for option in said}
    ours = {field.name: getattr(terms, field.name) for field in fields(Terms) if field.name in said_of}
    if "cron" in said or "every" in said:
        _rule(name, said)

    def otherwise(kept: Kept) -> Definition:
        new = replace(definition_of(kept), terms=replace(kept.terms, **ours))
        if "arguments" in said:
            fit(kept.done_by, said["arguments"] or {})
            new = replace(new, arguments=arguments)
        return replace(new, rule=_rule(name, _as_said(kept.calendar, said)).text) if _is_of_a_rule(said) else new

    return otherwise


def _is_of_a_rule(said: ChangedTerms) -> bool:
    return any(option in said for option in OF_A_RULE)


def _as_said(known: Rule, said: ChangedTerms) -> ChangedTerms:
    """What is said of the rule, with what is not said as it was."""
    kept: ChangedTerms = {"jitter": known.jitter}
    if isinstance(known, Cron):
        kept["tz"] = known.zone.name
    if "cron" not in said and "every" not in said:
        kept = {**kept, **_times(known)}
    elif "every" in said:
        kept.pop("tz", None)
    return cast("ChangedTerms", {**kept, **said})


def _times(known: Rule) -> ChangedTerms:
    """The times of a rule, as people say them."""
    words = known.text.split(" jitter=")[0].split(" ")
    if isinstance(known, Every):
        return {"every": words[1]}
    if not isinstance(known, Cron):  # it has none
        return {}
    expression = words[1:-1]
    return {"cron": " ".join(expression), "seconds": len(expression) > MINUTES}


def _rule(name: str, said: ChangedTerms) -> Rule:
    cron, every, jitter = said.get("cron"), said.get("every"), said.get("jitter", 0)
    if cron is not None and every is None:
        return cron_rule(cron, tz=said.get("tz", "UTC"), seconds=said.get("seconds", False), jitter=jitter)
    if every is None or cron is not None:
        raise ConfigError(f"{name!r}: say when it is due by either cron='0 3 * * *' or every='90s'")
    if beside := [option for option in ("tz", "seconds") if option in said]:
        raise ConfigError(f"{name!r}: {' and '.join(beside)} can only be said with cron=; leave it out with every=")
    return every_rule(every, jitter=jitter)


def _refuse_unfit(name: str, said: Mapping[str, object] | ChangedTerms, known: Any) -> None:
    if unknown := sorted(said.keys() - known):
        raise ConfigError(f"{name!r}: no such option here: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    on_outage = said.get("on_outage")
    if on_outage not in (None, "closed"):  # it may be anything
        raise ConfigError(
            f"{name!r}: on_outage={on_outage!r}: what only the store knows cannot be run without it; say 'closed', or "
            "define the schedule in code"
        )


def _function(name: str, job: object) -> str:
    if isinstance(job, Job | JobMethod):
        return str(cast("Job[Any]", job).name)
    if not isinstance(job, str):
        raise ConfigError(f"{name!r}: job={job!r}: name the function that does it, as the fleet knows it")
    return checked_job(job)
