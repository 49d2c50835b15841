"""The fields of a cron expression, each read to a mask of the values that it names."""

from __future__ import annotations

import re

from dibs.model.calendar.bits import mask
from dibs.model.calendar.picks import LastDay, NthWeekday, Pick, Workday
from dibs.model.value import value

LONGEST_SHOWN = 60
_NUMBER = re.compile(r"[0-9]{1,4}")
_WORKDAY = re.compile(r"([0-9]{1,4})W")
_LAST_WEEKDAY = re.compile(r"(\w+)L")
_NTH_WEEKDAY = re.compile(r"(\w+)#([1-5])")


@value
class Marks:
    """What one field says."""

    text: str
    """In numbers: `1-5` where it was said as `MON-FRI`."""
    mask: int
    picks: tuple[Pick, ...] = ()

    @property
    def is_star(self) -> bool:
        """Whether it begins with a star, as the rules about days and about changes of the clock ask."""
        return self.text.startswith("*")


@value
class Field:
    """What may stand in one place of an expression."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    """Names for the values from the lowest on."""
    unit: str = ""
    """How a duration of so many is written."""

    def read(self, text: str) -> Marks:
        """The field, read; a `ValueError` names the part that is wrong and what to write instead."""
        terms = text.upper().split(",")
        if any("*" in term for term in terms[1:]) or ("*" in terms and len(terms) > 1):
            raise self._fault(text, _star_advice(terms))
        marks = [self._term(term) for term in terms]
        picks = tuple(pick for mark in marks for pick in mark.picks)
        bits = 0
        for mark in marks:
            bits |= mark.mask
        return Marks(",".join(mark.text for mark in marks), bits, picks)

    def _term(self, term: str) -> Marks:
        if pick := self._pick(term):
            return Marks(pick.text, 0, (pick,))
        body, has_step, step = term.partition("/")
        first, has_end, last = body.partition("-")
        if body != "*" and has_step and not has_end:
            raise self._fault(term, self._without_end(term, body, step))
        low, high = (self.low, self._top) if body == "*" else self._range(body, first, last if has_end else first)
        text = "*" if body == "*" else f"{low}-{high}" if has_end else str(self._wrapped(low))
        if not has_step:
            return Marks(text, self._mask(low, high))
        by = self._step(term, step, (low, high))
        return Marks(f"{text}/{by}", self._mask(low, high, by))

    def _pick(self, term: str) -> Pick | None:
        """A day that depends on the month."""
        return None

    def _range(self, body: str, first: str, last: str) -> tuple[int, int]:
        low, high = self._value(body, first), self._value(body, last)
        if last == "SUN" and low > high:
            high = 7
        if low > high:
            fix = f"write '{low}-{self._top},{self.low}-{high}'"
            raise self._fault(body, f"a range goes up: if it is to go on from the start again, {fix}")
        return low, high

    def _value(self, term: str, text: str) -> int:
        if text.lower() in self.words:
            return self.words.index(text.lower()) + self.low
        if _NUMBER.fullmatch(text) and self.low <= int(text) <= self.high:
            return int(text)
        raise self._fault(term, self._advice(text))

    def _advice(self, text: str) -> str:
        if text == "?":
            return "write '*' for any"
        if text == "H":
            return "write a number; to spread jobs, pass jitter="
        if text == "":
            return "something is missing here: write a number, a range or '*'"
        named = f", or {self.words[0]} to {self.words[-1]}" if self.words else ""
        return f"write a number from {self.low} to {self.high}{named}"

    def _without_end(self, term: str, first: str, step: str) -> str:
        """Some take `5/15` for 5 to 59 in steps, others for every 15."""
        low = self._value(term, first)
        by = self._step(term, step, (self.low, self._top))
        is_alone = low + by > self._top
        return f"a step needs a range: write '{low if is_alone else f'{low}-{self._top}/{by}'}' or '*/{by}'"

    def _step(self, term: str, step: str, within: tuple[int, int]) -> int:
        low, high = within
        if not _NUMBER.fullmatch(step) or int(step) == 0:
            raise self._fault(term, "write the step as a whole number from 1 on")
        if int(step) > high - low:
            every = f", or '@every {int(step)}{self.unit}' for a time between runs" if self.unit else ""
            raise self._fault(term, f"so long a step meets {low} alone: write '{low}'{every}")
        return int(step)

    def _mask(self, low: int, high: int, by: int = 1) -> int:
        return mask(self._wrapped(number) for number in range(low, high + 1, by))

    def _wrapped(self, number: int) -> int:
        return number

    @property
    def _top(self) -> int:
        """The highest that '*' stands for."""
        return self.high

    def _fault(self, term: str, advice: str) -> ValueError:
        return ValueError(f"{self.name} {shown(term)}: {advice}")


class _DayField(Field):
    def _pick(self, term: str) -> Pick | None:
        if term == "L":
            return LastDay()
        if term == "LW":
            return Workday(None)
        if found := _WORKDAY.fullmatch(term):
            return Workday(self._value(term, found[1]))
        return None


class _WeekdayField(Field):
    """In which 7 is a Sunday, too."""

    def _pick(self, term: str) -> Pick | None:
        if found := _NTH_WEEKDAY.fullmatch(term):
            return NthWeekday(self._wrapped(self._value(term, found[1])), int(found[2]))
        if found := _LAST_WEEKDAY.fullmatch(term):
            return NthWeekday(self._wrapped(self._value(term, found[1])), None)
        return None

    def _advice(self, text: str) -> str:
        if text == "L":
            return "say the last of which: '5L' is the last Friday of the month, '6' every Saturday"
        if "#" in text:
            return "write a weekday, '#' and a number from 1 to 5: '5#2' is the second Friday of the month"
        return super()._advice(text)

    def _wrapped(self, number: int) -> int:
        return number % 7

    @property
    def _top(self) -> int:
        return 6


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

SECOND = Field("second", 0, 59, unit="s")
MINUTE = Field("minute", 0, 59, unit="m")
HOUR = Field("hour", 0, 23, unit="h")
DAY = _DayField("day of month", 1, 31)
MONTH = Field("month", 1, 12, MONTHS)
WEEKDAY = _WeekdayField("day of week", 0, 7, WEEKDAYS)


def shown(text: object) -> str:
    """The text as an error shows it: whatever it is, it is not long."""
    quoted = repr(text[:LONGEST_SHOWN] if isinstance(text, str) else text)
    return f"{quoted[:-1]}…'" if isinstance(text, str) and len(text) > LONGEST_SHOWN else quoted[: LONGEST_SHOWN + 2]


def _star_advice(terms: list[str]) -> str:
    if "*" in terms:
        return "'*' is every value already: write it alone"
    stars = [term for term in terms if "*" in term]
    if len(stars) > 1:
        return "write one step with a star at the most, and the others as ranges"
    return f"write the star first: '{','.join([*stars, *(term for term in terms if '*' not in term)])}'"
