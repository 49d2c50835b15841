"""The times of a day that a rule names. They are counted in seconds from midnight, by the clock on the wall."""

from __future__ import annotations

from dibs.model.calendar.bits import lowest
from dibs.model.value import value

MINUTE, HOUR = 60, 3600


@value
class Times:
    """Seconds, minutes and hours, as masks."""

    seconds: int
    minutes: int
    hours: int

    @property
    def earliest(self) -> int:
        """The first of a day."""
        return lowest(self.hours) * HOUR + self._in_an_hour

    @property
    def _in_an_hour(self) -> int:
        return lowest(self.minutes) * MINUTE + lowest(self.seconds)

    def first(self, low: int) -> int | None:
        """The first that is not below; `None` if the day has no more of them."""
        hour, rest = divmod(low, HOUR)
        if self.hours >> hour & 1:
            minute, second = divmod(rest, MINUTE)
            if self.minutes >> minute & 1 and (later := self.seconds >> second):
                return low + lowest(later)
            if later := self.minutes >> minute + 1:
                return hour * HOUR + (minute + 1 + lowest(later)) * MINUTE + lowest(self.seconds)
        if later := self.hours >> hour + 1:
            return (hour + 1 + lowest(later)) * HOUR + self._in_an_hour
        return None
