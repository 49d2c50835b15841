"""Cron: fields that name times and days by the clock on the wall of a zone.

When that clock is set by less than three hours, Debian's cron is the model. A rule that names fixed times runs for each
of them once: right after the change if the clock left it out, and the first time if the clock shows it twice. A rule
whose second, minute or hour begins with a star goes by what the clock shows, as often as it does.
"""

from __future__ import annotations

from datetime import tzinfo

from dibs.model.calendar.days import Days
from dibs.model.calendar.fields import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, Marks
from dibs.model.calendar.rule import EARLIEST, LATEST, Rule
from dibs.model.calendar.times import Times
from dibs.model.calendar.zones import Zone

FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
ON_THE_MINUTE = "0"
LONG_DAY = 86400


class Cron(Rule):
    """Moments by the calendar."""

    __slots__ = ("_every_day", "days", "is_fixed", "times", "zone")

    def __init__(self, fields: tuple[Marks, ...], zone: Zone, jitter: float = 0.0) -> None:
        second, minute, hour, day, month, weekday = fields
        said = fields[1:] if second.text == ON_THE_MINUTE else fields
        super().__init__(" ".join(["cron", *(marks.text for marks in said), zone.name]), jitter)
        self.zone = zone
        self.times = Times(second.mask, minute.mask, hour.mask)
        self.days = Days(day, month.mask, weekday)
        self.is_fixed = not (second.is_star or minute.is_star or hour.is_star)
        self._every_day = self.days.is_every

    @property
    def tz(self) -> tzinfo:
        return self.zone.tzinfo

    def after(self, moment: float) -> float | None:
        """The first tick after the moment."""
        if not moment < LATEST:
            return None
        at = int(moment) + 1 if moment >= EARLIEST else EARLIEST
        span = self.zone.span(at)
        low = at + span.ahead
        if self.is_fixed and (at == span.begin or low < span.reached):
            low = span.reached
        named = self.named(low)
        while named is not None:
            tick = named - span.ahead
            if tick < span.end:
                return float(max(tick, span.begin))
            span = self.zone.span(span.end)
            again = span.reached if self.is_fixed else span.begin + span.ahead
            if not low <= again <= named:
                low, named = again, self.named(again)
        return None

    def named(self, low: int) -> int | None:
        """The first time of the clock on the wall that it names and that is not below; as seconds, too."""
        day, second = divmod(low, LONG_DAY)
        found = day if self._every_day else self.days.first(day)
        if found == day:
            if (time := self.times.first(second)) is not None:
                return day * LONG_DAY + time
            found = day + 1 if self._every_day else self.days.first(day + 1)
        return None if found is None else found * LONG_DAY + self.times.earliest
