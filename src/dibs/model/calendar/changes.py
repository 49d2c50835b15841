"""What becomes of a rule when the clock on the wall is set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from math import floor

from dibs.model.calendar.cron import Cron
from dibs.model.calendar.enumeration import listed
from dibs.model.calendar.zones import DAY, Span

AHEAD = 366 * DAY
"""How far is looked ahead: a zone is through with its changes of a year then."""
MOST_TOLD = 3


def notes(rule: Cron, after: float) -> list[str]:
    """What the changes of the clock within a year move, leave out or repeat; one line for each."""
    spans = pairwise(_spans(rule, floor(after)))
    return [note for before, then in spans if before.ahead != then.ahead and (note := _note(rule, before, then))]


def _spans(rule: Cron, at: int) -> Iterator[Span]:
    until = at + AHEAD
    while at < until:
        yield (span := rule.zone.span(at))
        at = span.end


def _note(rule: Cron, before: Span, then: Span) -> str:
    """Nothing if the rule names no time that the clock leaves out or shows twice."""
    shown, shows = then.begin + before.ahead, then.begin + then.ahead
    times = _named(rule, min(shown, shows), max(shown, shows))
    if not times:
        return ""
    is_small = then.reached == shown
    day = f"{datetime.fromtimestamp(times[0], UTC):%Y-%m-%d}"
    told = listed([*map(_clock, times[:MOST_TOLD]), *(["more"] if times[MOST_TOLD:] else [])])
    if shown < shows:
        fate = f"runs at {_clock(shows)}" if rule.is_fixed and is_small else "left out"
        return f"{day}: {told} {'do' if times[1:] else 'does'} not exist; {fate}"
    fate = "runs the first time only" if rule.is_fixed and is_small else "runs both times"
    return f"{day}: {told} {'come' if times[1:] else 'comes'} twice; {fate}"


def _named(rule: Cron, low: int, high: int) -> list[int]:
    """The first few times of the clock on the wall that the rule names, between the two."""
    times = list[int]()
    named = rule.named(low)
    while named is not None and named < high and len(times) <= MOST_TOLD:
        times.append(named)
        named = rule.named(named + 1)
    return times


def _clock(time: int) -> str:
    return f"{datetime.fromtimestamp(time, UTC):{'%H:%M:%S' if time % 60 else '%H:%M'}}"
