"""What somebody wants done to jobs: checked first, and then done by threads and by tasks in the same way."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from dibs.errors import ConfigError
from dibs.flows.controlling import Moment, Order
from dibs.model.calendar.rule import EARLIEST, LATEST
from dibs.model.duration import Duration, seconds, spoken
from dibs.model.names import job_fault
from dibs.options import checked_text
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.job import Job
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

T = TypeVar("T")

LONGEST_PAUSE = 100 * 366 * 86_400.0
MOST_BYTES = 16_384
"""So long may arguments be, as JSON: they are read with every look at their job."""


@dataclass(frozen=True, slots=True)
class Errand(Generic[T]):
    """Something to be done, in either colour."""

    doing: str
    flow: Callable[[World, Desk], Coroutine[Any, Any, T]]

    def run(self, engine: Engine) -> T:
        """Do it, and wait for it."""
        return run(self.flow(engine.blocking(self.doing), engine.desk))

    async def arun(self, engine: Engine) -> T:
        """Do it on the running loop."""
        return await self.flow(engine.aio(self.doing), engine.desk)


def checked_order(asked: str, by: str, reason: str) -> Order:
    """Who wants it, and why, as others will see it."""
    return Order(asked, checked_text("by", by), checked_text("reason", reason))


def checked_job(name: str) -> str:
    """The name, if a job may have it."""
    if fault := job_fault(name):
        raise ConfigError(f"{name!r} names no job: {fault}")
    return name


def checked_until(until: Duration | datetime | None) -> Moment:
    """Until when: so long from now on, by the store's clock, or until a moment; `None` is until somebody says so."""
    if until is None:
        return lambda _: None
    if isinstance(until, datetime):
        moment = checked_moment("until", until)
        return lambda _: moment
    try:
        lasts = seconds(until)
    except ValueError as fault:
        raise ConfigError(f"until: {fault}; or a datetime with a time zone") from None
    if not 0 < lasts <= LONGEST_PAUSE:
        raise ConfigError(f"until={until!r} is out of range; it is above 0 and goes up to {spoken(LONGEST_PAUSE)}")
    return lambda now: now + lasts


def checked_moment(option: str, at: object) -> float:
    """A moment that somebody has named, in whichever zone."""
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise ConfigError(f"{option}={at!r}: give a datetime with a time zone, as in datetime(2030, 1, 1, tzinfo=UTC)")
    moment = at.timestamp()
    if not EARLIEST <= moment < LATEST:
        raise ConfigError(f"{option}={at!r}: give a moment from 1970 on, and before the year 9986")
    return moment


def checked_arguments(arguments: object) -> str:
    """Arguments as a store keeps them: a JSON object; nothing if there are none to speak of."""
    if arguments is None:
        return ""
    named = _by_name(arguments)
    if not all(isinstance(name, str) for name in named):
        raise ConfigError(f"arguments={_shown(arguments)}: give them by name, as in {{'city': 'Berlin'}}")
    try:
        text = json.dumps(named, separators=(",", ":"), sort_keys=True, allow_nan=False)
    except (RecursionError, TypeError, ValueError) as fault:
        shown = _shown(arguments)
        raise ConfigError(f"arguments={shown}: only what JSON can say is kept in a store ({fault})") from None
    if len(text) > MOST_BYTES:
        raise ConfigError(f"arguments: they have {len(text)} bytes as JSON, and {MOST_BYTES} are the most; pass a key")
    return text


def _by_name(arguments: object) -> Mapping[object, object]:
    return dict(cast("Mapping[object, object]", arguments)) if isinstance(arguments, Mapping) else {None: arguments}


def _shown(arguments: object) -> str:
    """The first of it: there may be far too much, and some of it may have no words."""
    try:
        return reprlib.repr(arguments)
    except ValueError:  # a number that is longer than Python likes to write
        return f"<{type(arguments).__name__}>"


def zone_of(job: Job) -> tzinfo:
    """In which zone a job's times are told."""
    return job.calendar.tz


def told(at: float, zone: tzinfo = UTC) -> datetime:
    """A moment as people are told it."""
    return datetime.fromtimestamp(at, zone)
