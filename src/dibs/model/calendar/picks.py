"""Days that depend on the month, so that no number can name them: the last one, the second Friday."""

from __future__ import annotations

from typing import Protocol

from dibs.model.value import value

SUNDAY, SATURDAY = 0, 6
WEEK = 7
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ORDINALS = ("first", "second", "third", "fourth", "fifth")


class Pick(Protocol):
    """One day of a month, or none."""

    @property
    def text(self) -> str:
        """As it stands in an expression."""
        ...

    @property
    def words(self) -> str:
        """As people say it."""
        ...

    def day(self, length: int, first: int) -> int:
        """Which day it is in a month of that length that begins on that weekday; 0 if it has none."""
        ...


@value
class LastDay:
    """`L`: the last day of the month."""

    text: str = "L"
    words: str = "the last day"

    def day(self, length: int, first: int) -> int:
        """The last one."""
        return length


@value
class Workday:
    """`15W`: the day of Monday to Friday that is nearest to the 15th in the same month; `LW`: to the month's end."""

    near: int | None

    @property
    def text(self) -> str:
        return "LW" if self.near is None else f"{self.near}W"

    @property
    def words(self) -> str:
        weekday = "weekday (Monday to Friday)"
        return f"the last {weekday}" if self.near is None else f"the {weekday} nearest to day {self.near}"

    def day(self, length: int, first: int) -> int:
        """That day, or the one beside it where it falls on a weekend."""
        near = length if self.near is None else self.near
        if near > length:
            return 0
        weekday = (first + near - 1) % WEEK
        if weekday == SATURDAY:
            return near - 1 if near > 1 else near + 2
        if weekday == SUNDAY:
            return near + 1 if near < length else near - 2
        return near


@value
class NthWeekday:
    """`5#2`: the second Friday of the month; `5L`: the last."""

    weekday: int
    number: int | None

    @property
    def text(self) -> str:
        return f"{self.weekday}L" if self.number is None else f"{self.weekday}#{self.number}"

    @property
    def words(self) -> str:
        return f"the {'last' if self.number is None else ORDINALS[self.number - 1]} {WEEKDAYS[self.weekday]}"

    def day(self, length: int, first: int) -> int:
        """The first such weekday, and whole weeks from there."""
        earliest = 1 + (self.weekday - first) % WEEK
        if self.number is None:
            return earliest + (length - earliest) // WEEK * WEEK
        day = earliest + (self.number - 1) * WEEK
        return day if day <= length else 0
