"""The days that a rule names. A day is counted from 1970-01-01, in whatever zone the clock hangs."""

from __future__ import annotations

from datetime import date

from dibs.model.calendar.bits import lowest, values
from dibs.model.calendar.fields import Marks
from dibs.model.calendar.picks import WEEK
from dibs.model.value import value

EPOCH = date(1970, 1, 1).toordinal()
LAST_YEAR = 9990
FEBRUARY, LEAP = 2, 29
LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
ALL_DAYS, ALL_MONTHS, ALL_WEEKDAYS = (1 << 32) - 2, (1 << 13) - 2, (1 << WEEK) - 1
SIX_WEEKS = sum(1 << WEEK * week for week in range(6))
"""Times a mask of weekdays: the same in every week of a month."""


@value
class Days:
    """Days of the month, months and weekdays."""

    days: Marks
    months: int
    weekdays: Marks

    @property
    def is_every(self) -> bool:
        """Whether there is no day that it leaves out."""
        every = self.months == ALL_MONTHS and self.days.mask == ALL_DAYS and self.weekdays.mask == ALL_WEEKDAYS
        return every and not self.is_either

    @property
    def is_either(self) -> bool:
        """Whether a day is right by one of the two: if both are said. A field that begins with a star is not."""
        return not (self.days.is_star or self.weekdays.is_star)

    @property
    def is_possible(self) -> bool:
        """Whether there is any such day at all."""
        months = [(month, LENGTHS[month]) for month in values(self.months)]
        if self.months >> FEBRUARY & 1:
            months.append((FEBRUARY, LEAP))
        return any(self._of(length, first) for _, length in months for first in range(WEEK))

    def first(self, low: int) -> int | None:
        """The first that is not below; `None` if the calendar ends before."""
        at = date.fromordinal(low + EPOCH)
        year, month, day = at.year, at.month, at.day
        while year <= LAST_YEAR:
            if self.months >> month & 1 and (found := self._in_month(year, month) >> day):
                return date(year, month, day + lowest(found)).toordinal() - EPOCH
            if later := self.months >> month + 1:
                month += 1 + lowest(later)
            else:
                year, month = year + 1, lowest(self.months)
            day = 1
        return None

    def _in_month(self, year: int, month: int) -> int:
        is_leap = month == FEBRUARY and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return self._of(LEAP if is_leap else LENGTHS[month], date(year, month, 1).isoweekday() % WEEK)

    def _of(self, length: int, first: int) -> int:
        """Those of a month of that length that begins on that weekday, as a mask."""
        days = self.days.mask | _picked(self.days, length, first)
        in_weeks = (self.weekdays.mask * SIX_WEEKS >> first) << 1
        weekdays = in_weeks | _picked(self.weekdays, length, first)
        found = days | weekdays if self.is_either else days & weekdays
        return found & (2 << length) - 2


def _picked(marks: Marks, length: int, first: int) -> int:
    bits = 0
    for pick in marks.picks:
        bits |= 1 << pick.day(length, first)
    return bits
