"""Intervals: a tick each time that so many seconds have passed since 1970, wherever and whenever a node starts."""

from __future__ import annotations

from dibs.model.calendar.rule import EARLIEST, LATEST, Rule, plain
from dibs.model.duration import spoken

SHORTEST, LONGEST = 1.0, 366 * 86400.0


class Every(Rule):
    """The multiples of a period."""

    __slots__ = ("_period_ms", "period")

    def __init__(self, period: float, jitter: float = 0.0) -> None:
        if not SHORTEST <= period <= LONGEST:
            raise ValueError(
                f"every {period:g}s is out of range; it goes from {spoken(SHORTEST)} to {spoken(LONGEST)}: for what is "
                "done more often, loop within one run"
            )
        super().__init__(f"every {plain(period)}", jitter)
        self.period = period
        self._period_ms = round(period * 1000)

    def after(self, moment: float) -> float | None:
        """The first multiple that is later."""
        if not moment < LATEST:
            return None
        # In whole milliseconds, as fractions drift; and with a look back, as the moment is itself rounded.
        ticks = int(max(moment, EARLIEST) * 1000) // self._period_ms
        while (tick := ticks * self._period_ms / 1000) <= moment:
            ticks += 1
        return tick
