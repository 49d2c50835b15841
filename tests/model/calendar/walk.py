"""The oracle: Debian's cron played minute by minute, and expressions taken at their word. Slow, and easy to check.

`cron.c` keeps a virtual time, the last minute of the clock on the wall for which it has run everything. Each minute it
looks at that clock and compares:

- one minute later: everything runs for it;
- later by up to three hours: the wildcard jobs run for what the clock shows, and the fixed-time jobs for each minute
  that was left out;
- earlier, by up to three hours: only the wildcard jobs run, until the clock has caught up;
- any further away: the virtual time is what the clock shows, and everything runs for it.

A wildcard job is one whose minute or hour begins with a star. (Clocks that are set by less than five minutes have a
rule of their own there; no zone has done so since 1970.)
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

HOUR, DAY = 3600, 86400
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Look(NamedTuple):
    """What cron does at one moment."""

    at: int
    shown: datetime
    """What it runs jobs for."""
    is_for_wildcards: bool
    is_for_fixed: bool


def walk(zone: str, begin: int, end: int, *, unit: int = 60) -> list[Look]:
    """All looks between the two moments, once a minute (or second, for those who have such jobs)."""
    return [*_looks(zone, begin, end, unit)]


def due(expression: str, looks: list[Look]) -> list[float]:
    """When jobs of that expression run."""
    fields = expression.upper().split()
    is_wildcard = any(field.startswith("*") for field in fields[:-3])
    runs = (look for look in looks if (look.is_for_wildcards if is_wildcard else look.is_for_fixed))
    return sorted({float(look.at) for look in runs if is_named(fields, look.shown)})


@lru_cache(4096)
def changes(zone: str, begin: int, end: int) -> list[int]:
    """When the clock is set: to the minute, on each day after which it is not what it was."""
    days = [day for day in range(begin, end, DAY) if _offset(zone, day) != _offset(zone, day + DAY)]
    return [next(at for at in range(day, day + DAY + 1, 60) if _offset(zone, at) != _offset(zone, day)) for day in days]


def _looks(zone: str, begin: int, end: int, unit: int) -> Iterator[Look]:
    virtual = (begin + _offset(zone, begin)) // unit - 1
    for at in range(begin, end, unit):
        clock = (at + _offset(zone, at)) // unit
        late = clock - virtual
        if late == 1:
            yield Look(at, _shown(clock, unit), is_for_wildcards=True, is_for_fixed=True)
            virtual = clock
        elif 1 < late <= 3 * HOUR // unit:
            yield Look(at, _shown(clock, unit), is_for_wildcards=True, is_for_fixed=False)
            for missed in range(virtual + 1, clock + 1):
                yield Look(at, _shown(missed, unit), is_for_wildcards=False, is_for_fixed=True)
            virtual = clock
        elif -3 * HOUR // unit < late <= 0:
            yield Look(at, _shown(clock, unit), is_for_wildcards=True, is_for_fixed=False)
        else:
            yield Look(at, _shown(clock, unit), is_for_wildcards=True, is_for_fixed=True)
            virtual = clock


def _offset(zone: str, at: int) -> int:
    offset = datetime.fromtimestamp(at, ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _shown(clock: int, unit: int) -> datetime:
    return datetime.fromtimestamp(clock * unit, UTC)


# --- expressions, one value at a time ----------------------------------------------------------------------------


def is_named(fields: list[str], shown: datetime) -> bool:
    """Whether the expression names that time of the clock on the wall."""
    *times, day, month, weekday = fields
    clock = (shown.second, shown.minute, shown.hour)[-len(times) :]
    if len(times) == 2 and shown.second:
        return False
    highest = (59, 59, 23)[-len(times) :]
    if not all(_has(field, now, 0, high) for field, now, high in zip(times, clock, highest, strict=True)):
        return False
    return _has(month, shown.month, 1, 12) and _is_day(day, weekday, shown.date())


def _is_day(day: str, weekday: str, today: date) -> bool:
    by_month, by_week = _has_day(day, today), _has_weekday(weekday, today)
    if day.startswith("*") or weekday.startswith("*"):
        return by_month and by_week
    return by_month or by_week


def _has_day(field: str, today: date) -> bool:
    last = monthrange(today.year, today.month)[1]
    for term in field.split(","):
        if term == "L" and today.day == last:
            return True
        if term == "LW" and today == _workday(today.replace(day=last)):
            return True
        if term.endswith("W") and term != "LW":
            if int(term[:-1]) <= last and today == _workday(today.replace(day=int(term[:-1]))):
                return True
        elif term not in ("L", "LW") and _has(term, today.day, 1, 31):
            return True
    return False


def _workday(near: date) -> date:
    """The nearest day of Monday to Friday that is in the same month."""
    around = (near + timedelta(days=by) for by in (0, -1, 1, -2, 2))
    return next(day for day in around if day.isoweekday() <= 5 and day.month == near.month)


def _has_weekday(field: str, today: date) -> bool:
    for term in field.split(","):
        if "#" in term:
            weekday, number = term.split("#")
            if _has(weekday, today.isoweekday() % 7, 0, 7) and (today.day - 1) // 7 + 1 == int(number):
                return True
        elif term.endswith("L"):
            is_last = (today + timedelta(days=7)).month != today.month
            if _has_weekday(term[:-1], today) and is_last:
                return True
        elif _has(term, today.isoweekday() % 7, 0, 6) or (today.isoweekday() == 7 and _has(term, 7, 1, 7)):
            return True
    return False


@lru_cache(65536)
def _has(field: str, value: int, low: int, high: int) -> bool:
    for term in field.split(","):
        span, _, step = term.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        begin, end = _number(first), _number(last or first)
        if value in range(begin, end + 1, int(step or 1)):
            return True
    return False


def _number(text: str) -> int:
    if text in MONTHS:
        return MONTHS.index(text) + 1
    return WEEKDAYS.index(text) if text in WEEKDAYS else int(text)
