"""By how much the clock on the wall of a zone is ahead, and when that changes. All is in whole seconds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from dibs.model.calendar.fields import shown
from dibs.model.value import value

DAY = 86400
STRETCH, STEP = 400 * DAY, 6 * DAY
"""So much is looked through at a time, in such steps: no zone has changed twice within six days since 1970."""
BIG = 3 * 3600
"""A clock that is set by so much, or back by more, is taken for another one: what it leaves out stays undone."""

KNOWN_ZONES, KNOWN_STRETCHES = 1024, 4096


@value
class Span:
    """A time in which the clock is not set."""

    begin: int
    end: int
    ahead: int
    reached: int
    """What the clock has shown already when it begins: what was named until then has been done.

    That is less than it shows then, if it was set forward, and more, if it was set back.
    """


class Zone:
    """A time zone by its name."""

    __slots__ = ("_last", "name", "tzinfo")

    def __init__(self, name: str, tz: tzinfo) -> None:
        self.name, self.tzinfo = name, tz
        self._last = Span(0, 0, 0, 0)

    def span(self, at: int) -> Span:
        """The one in which that moment is."""
        last = self._last  # nearly always the same is asked for
        if last.begin <= at < last.end:
            return last
        self._last = found = next(span for span in _spans(self, at // STRETCH) if at < span.end)
        return found

    def ahead(self, at: int) -> int:
        """By how much the clock on the wall is ahead of UTC."""
        offset = datetime.fromtimestamp(at, self.tzinfo).utcoffset()
        return 0 if offset is None else int(offset.total_seconds())


@lru_cache(KNOWN_ZONES)
def zone(name: str) -> Zone:
    """The zone of that name; a `ValueError` says that there is none."""
    try:
        return Zone(name, UTC if name == "UTC" else _found(name))
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"tz {shown(name)}: no such time zone is known here; name one as in 'Europe/Berlin', or install tzdata if "
            "this system has none"
        ) from None


def _found(name: str) -> tzinfo:
    # Another machine may take these for something else, or count leap seconds.
    if name == "localtime" or name.startswith(("right/", "posix")):
        raise KeyError(name)
    return ZoneInfo(name)


@lru_cache(KNOWN_STRETCHES)
def _spans(zone: Zone, number: int) -> tuple[Span, ...]:
    """Those of one stretch, cut off at its ends. It is seen from a day before: the clock may just have been set."""
    start, stop = number * STRETCH, (number + 1) * STRETCH
    begin = start - DAY
    ahead, spans = zone.ahead(begin), list[Span]()
    reached = begin + ahead
    for end in (*_changes(zone, begin, stop), stop):
        if begin >= start:
            spans.append(Span(begin, end, ahead, reached))
        elif end > start:
            spans.append(Span(start, end, ahead, max(reached, start + ahead)))
        reached = max(reached, end + ahead)
        begin, ahead = end, zone.ahead(end)
        if not -BIG <= begin + ahead - reached < BIG:
            reached = begin + ahead
    return tuple(spans)


def _changes(zone: Zone, low: int, high: int) -> Iterator[int]:
    """When the clock is set, between the two."""
    was = zone.ahead(low)
    for step in range(low, high, STEP):
        end = min(step + STEP, high)
        if (then := zone.ahead(end)) == was:
            continue
        if (change := _change(zone, step, end)) < high:
            yield change
        was = then


def _change(zone: Zone, low: int, high: int) -> int:
    """The first second of what the clock shows at the end."""
    was = zone.ahead(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if zone.ahead(middle) == was else (low, middle)
    return high
