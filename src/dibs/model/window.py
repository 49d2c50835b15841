"""Windows of time: which of them a moment is in, and when that ends. Moments are epoch seconds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Protocol

from dibs.model.duration import seconds, spoken
from dibs.model.value import value

DAY, WEEK = 86400.0, 7 * 86400.0
FROM_MONDAY = 3 * DAY
"""The epoch began on a Thursday."""
SHORTEST, LONGEST = 0.1, 366 * DAY
MONTH = "month"


class Window(Protocol):
    """How long work that was done need not be done again."""

    def ends_at(self, claimed_at: float, done_at: float) -> float:
        """When it may be done again, if it was begun and finished then."""
        ...


@value
class Calendar:
    """Windows of one length. Each begins when the clock on the wall shows a multiple of it."""

    per: float
    tz: tzinfo = UTC

    def ends_at(self, claimed_at: float, done_at: float) -> float:
        """The end of the window in which it was begun."""
        at = claimed_at
        while True:
            ahead = self._ahead(at)
            end = ((at + ahead) // self.per + 1) * self.per - ahead
            jump = _jump(self._ahead, at, end)
            if jump is None:
                return end
            then = self._ahead(jump)
            # Another window by that clock, or the same from its beginning again: an hour that comes twice is two.
            if (jump + then) // self.per != (at + ahead) // self.per or ahead - then >= self.per:
                return jump
            at = jump

    def _ahead(self, at: float) -> float:
        """By how much the clock on the wall is ahead; a week's begins on a Monday."""
        offset = datetime.fromtimestamp(at, self.tz).utcoffset()
        ahead = 0.0 if offset is None else offset.total_seconds()
        return ahead + FROM_MONDAY if self.per % WEEK == 0 else ahead


@value
class Month:
    """From the first of a month to the first of the next."""

    tz: tzinfo = UTC

    def ends_at(self, claimed_at: float, done_at: float) -> float:
        """The end of the month in which it was begun."""
        here = datetime.fromtimestamp(claimed_at, self.tz)
        year, month = (here.year + 1, 1) if here.month == 12 else (here.year, here.month + 1)  # noqa: PLR2004 - December
        return datetime(year, month, 1, tzinfo=self.tz).timestamp()


@value
class SinceSuccess:
    """No calendar: so long from when it was last done."""

    per: float

    def ends_at(self, claimed_at: float, done_at: float) -> float:
        """So long after it was finished."""
        return done_at + self.per


def window(per: object, *, tz: tzinfo | None, since: object) -> Window:
    """The windows that people mean; a `ValueError` says what cannot be meant."""
    if since not in (None, "success"):
        raise ValueError(f"since={since!r}: say 'success', or leave it out for windows of the calendar")
    if since is not None and (per == MONTH or tz is not None):
        raise ValueError(f"since='success' counts a duration from a success: it goes with no {_calendar(per)}")
    if per == MONTH:
        return Month(tz or UTC)
    length = _length(per)
    if since is not None:
        return SinceSuccess(length)
    if tz is not None and not _fits_days(length):
        raise ValueError(
            f"per={per!r} with a time zone: only what divides a day, or whole days, begin with a day there"
        )
    return Calendar(length, tz or UTC)


def _calendar(per: object) -> str:
    return f"per={MONTH!r}" if per == MONTH else "tz="


def _length(per: object) -> float:
    try:
        length = seconds(per)
    except ValueError as fault:
        raise ValueError(f"per: {fault}, or {MONTH!r}") from None
    if not SHORTEST <= length <= LONGEST:
        raise ValueError(f"per={per!r} is out of range; it goes from {spoken(SHORTEST)} to {spoken(LONGEST)}")
    return length


def _fits_days(length: float) -> bool:
    return DAY % length == 0 or length % DAY == 0


def _jump(ahead: Callable[[float], float], begin: float, end: float) -> float | None:
    """When the clock on the wall is set between two moments, to the second; `None` if it is not."""
    was, low, high = ahead(begin), int(begin), int(end)
    if ahead(high) == was:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ahead(middle) == was else (low, middle)
    return float(high)
