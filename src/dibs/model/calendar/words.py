"""Rules in English: what somebody who wrote one may compare with what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dibs.model.calendar.bits import values
from dibs.model.calendar.cron import Cron
from dibs.model.calendar.days import ALL_DAYS, ALL_MONTHS, ALL_WEEKDAYS, Days
from dibs.model.calendar.enumeration import enumerated, in_runs, listed, pace
from dibs.model.calendar.fields import Marks
from dibs.model.calendar.interval import Every
from dibs.model.calendar.picks import WEEKDAYS
from dibs.model.calendar.rule import Rule
from dibs.model.calendar.times import Times

_FIRST_HALF, _SECOND_HALF = (
    ("January", "February", "March", "April", "May", "June"),
    ("July", "August", "September", "October", "November", "December"),
)
MONTHS = _FIRST_HALF + _SECOND_HALF
FROM_MONDAY = (1, 2, 3, 4, 5, 6, 0)
MOST_TIMES = 6
"""So many times of a day are told one by one."""
IN_AN_HOUR, IN_A_DAY = 60, 24
UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


def words(rule: Rule) -> str:
    """The rule as a sentence, without its full stop."""
    said = _said(rule)
    return f"{said}, put off by up to {_duration(rule.jitter)}" if rule.jitter else said


def _said(rule: Rule) -> str:
    match rule:
        case Cron():
            return _calendar(rule)
        case Every():
            return f"every {_duration(rule.period)}, counted from 1970-01-01 00:00 UTC"
        case _:
            return rule.text


def _duration(duration: float) -> str:
    left, said = duration, list[str]()
    for unit, size in UNITS:
        count, left = divmod(left, size)
        if count:
            said.append(_counted(count, unit))
    if left:
        said.append(_counted(round(left, 3), "second"))
    return listed(said)


def _counted(count: float, unit: str) -> str:
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def _calendar(rule: Cron) -> str:
    zone = "UTC" if rule.zone.name == "UTC" else f"{rule.zone.name} time"
    times, days = _times(rule.times), _days(rule.days)
    every_day = " every day" if times.startswith("at ") and ":" in times else ""
    return f"{times}{days or every_day}, {zone}"


# --- times of the day --------------------------------------------------------------------------------------------


def _times(times: Times) -> str:
    seconds, minutes, hours = values(times.seconds), values(times.minutes), values(times.hours)
    if len(seconds) * len(minutes) * len(hours) <= MOST_TIMES:
        return f"at {listed([_clock(*at) for at in product(hours, minutes, seconds)])}"
    if seconds == [0]:
        return _minutes(minutes, hours)
    said = pace(seconds, IN_AN_HOUR, "second") or f"at {enumerated(seconds, 'second')}"
    if len(minutes) == IN_AN_HOUR:
        return f"{said}{'' if said.startswith('every') else ' of every minute'}{_within(hours)}"
    return f"{said} of {enumerated(minutes, 'minute')}{_of_hours(hours)}"


def _minutes(minutes: Sequence[int], hours: Sequence[int]) -> str:
    if said := pace(minutes, IN_AN_HOUR, "minute"):
        return f"{said}{_within(hours)}"
    by_hours = pace(hours, IN_A_DAY, "hour")
    if minutes == [0] and by_hours:
        return by_hours
    if minutes == [0] and _is_run(hours):
        return f"every hour from {hours[0]:02}:00 to {hours[-1]:02}:00"
    return f"at {enumerated(minutes, 'minute')}{_of_hours(hours)}"


def _within(hours: Sequence[int]) -> str:
    if len(hours) == IN_A_DAY:
        return ""
    if _is_run(hours):
        return f" from {hours[0]:02}:00 to {hours[-1]:02}:59"
    return f" in {enumerated(hours, 'hour')}"


def _of_hours(hours: Sequence[int]) -> str:
    return " of every hour" if len(hours) == IN_A_DAY else f" of {enumerated(hours, 'hour')}"


def _is_run(numbers: Sequence[int]) -> bool:
    return numbers[-1] - numbers[0] == len(numbers) - 1


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}:{second:02}" if second else f"{hour:02}:{minute:02}"


# --- days --------------------------------------------------------------------------------------------------------


def _days(days: Days) -> str:
    """With a blank or a comma before it; nothing if it is every day."""
    months = "every month" if days.months == ALL_MONTHS else _months(days.months)
    in_months = "" if days.months == ALL_MONTHS else f" in {months}"
    by_month, by_week = _by_month(days.days), _by_week(days.weekdays)
    if days.is_either:
        return f" on {by_month} of {months} as well as on {by_week}{in_months}"
    if by_month and by_week:
        return f" on {by_month} of {months}, only if that is {by_week}"
    if by_month:
        return f" on {by_month} of {months}"
    if by_week:
        return f"{', ' if ' to ' in by_week else ' on '}{by_week}{in_months or _of_month(days.weekdays)}"
    return f" every day{in_months}" if in_months else ""


def _of_month(weekdays: Marks) -> str:
    return " of every month" if weekdays.picks else ""


def _by_month(marks: Marks) -> str:
    if marks.mask == ALL_DAYS and marks.is_star:
        return ""
    numbers = values(marks.mask)
    return listed([*([enumerated(numbers, "day")] if numbers else []), *(pick.words for pick in marks.picks)])


def _by_week(marks: Marks) -> str:
    if marks.mask == ALL_WEEKDAYS and marks.is_star:
        return ""
    said = [WEEKDAYS[day] if marks.mask >> day & 1 else "" for day in FROM_MONDAY]
    return listed([*in_runs(said), *(pick.words for pick in marks.picks)])


def _months(months: int) -> str:
    return listed(in_runs([name if months >> number & 1 else "" for number, name in enumerate(MONTHS, 1)]))
