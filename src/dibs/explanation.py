"""What a schedule means, before anybody relies on it: `dibs.explain("0 3 * * *", tz="Europe/Berlin")`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.model.calendar import Cron, Rule
from dibs.model.calendar.changes import notes
from dibs.model.calendar.rule import EARLIEST, LATEST
from dibs.model.calendar.words import words
from dibs.rules import cron_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

SO_MANY = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """A schedule in words and in times."""

    words: str
    """What it says, as a sentence: `"at 03:00 every day, Europe/Berlin time"`."""
    next: tuple[datetime, ...]
    """The next ten times, in the schedule's time zone."""
    notes: tuple[str, ...] = ()
    """What the next changes of the clock move, leave out or repeat."""

    def __str__(self) -> str:
        times = [f"  {at:%a %Y-%m-%d %H:%M:%S} {at.tzname()}" for at in self.next]
        changes = ["when the clock is set:", *(f"  {note}" for note in self.notes)] if self.notes else []
        return "\n".join([self.words, "next:", *times, *changes])


def explain(
    expression: str, *, tz: str | tzinfo = "UTC", seconds: bool = False, after: datetime | float | None = None
) -> Explanation:
    """What a cron expression means: in words, its next ten times, and what happens when the clock is set.

    Times are counted from `after`, or from now. A `ConfigError` says what is wrong with an expression.
    """
    rule = cron_rule(expression, tz=tz, seconds=seconds)
    begin = _moment(after)
    zone = rule.zone.tzinfo if isinstance(rule, Cron) else UTC
    times = tuple(datetime.fromtimestamp(tick, zone) for tick in islice(_ticks(rule, begin), SO_MANY))
    return Explanation(words(rule), times, tuple(notes(rule, begin)) if isinstance(rule, Cron) else ())


def _moment(after: object) -> float:
    if after is None:
        return time.time()
    moment = after.timestamp() if isinstance(after, datetime) and after.tzinfo is not None else after
    if isinstance(moment, int | float) and EARLIEST <= moment < LATEST:
        return float(moment)
    raise ConfigError(f"after={after!r}: give a datetime with a time zone, or epoch seconds, from 1970 on")


def _ticks(rule: Rule, moment: float) -> Iterator[float]:
    tick = rule.after(moment)
    while tick is not None:
        yield tick
        tick = rule.after(tick)
