"""Locks that are refused again and again: told once for every so many times, and once when that is over."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING

from dibs.events import Acquired, Adopted, FoundBusy, LetInAgain, RefusedInARow

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.events import Event

MOST_NAMES = 1_000
"""So many locks are counted; of more, those that were refused the longest ago are forgotten."""
FORGOTTEN_AT_ONCE = 100


class Refusals:
    """Counts, by lock, how often in a row this process was refused it; an acquisition begins anew.

    Threads call it side by side, and a child may be forked meanwhile: it has no lock of its own, which could be left
    taken, and each change is a single step on a dict or a counter.
    """

    def __init__(self, after: int, tell: Callable[[Event], None], now: Callable[[], float] = time.time) -> None:
        self._after, self._tell, self._now = after, tell, now
        self._streaks: dict[str, _Streak] = {}

    def on(self, event: Event, /) -> None:
        """Take note of a refusal, or of an end to them; a call that is skipped was refused its lock just before."""
        if isinstance(event, FoundBusy):
            self._refused(event.name, event.holder)
        elif self._streaks and isinstance(event, Acquired | Adopted):
            self._let_in(event.name)

    def __repr__(self) -> str:
        return f"<Refusals of {len(self._streaks)} locks, told after {self._after}>"

    def _refused(self, name: str, holder: str) -> None:
        streak = self._streaks.get(name) or self._begun(name)
        streak.latest, times = self._now(), next(streak.refusals)
        if times % self._after == 0:
            streak.is_told = True
            self._tell(RefusedInARow(name, times, streak.since, holder))

    def _let_in(self, name: str) -> None:
        streak = self._streaks.pop(name, None)
        if streak is not None and streak.is_told:
            self._tell(LetInAgain(name, next(streak.refusals) - 1, streak.since))

    def _begun(self, name: str) -> _Streak:
        if len(self._streaks) >= MOST_NAMES:
            by_age = sorted(list(self._streaks.items()), key=lambda item: item[1].latest)  # noqa: C414 - in one step
            for old, _ in by_age[:FORGOTTEN_AT_ONCE]:
                self._streaks.pop(old, None)
        return self._streaks.setdefault(name, _Streak(self._now()))


class _Streak:
    """Refusals of one lock, without an acquisition in between."""

    __slots__ = ("is_told", "latest", "refusals", "since")

    def __init__(self, since: float) -> None:
        self.since = self.latest = since
        self.refusals, self.is_told = count(1), False
