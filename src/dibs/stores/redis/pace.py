"""When a line that is not open may try again to connect."""

from __future__ import annotations

from collections.abc import Callable

from dibs.model.backoff import FIRST, backoff


class Pace:
    """One line's: so long after its last try as was said, else after pauses of our own, which grow."""

    def __init__(self, interval: float | None, owner: str, now: Callable[[], float]) -> None:
        self._interval = None if interval is None else max(interval, FIRST)
        self._owner, self._now = owner, now
        self._tried_at = float("-inf")

    def trying(self) -> None:
        """A connection is being made, just now."""
        self._tried_at = self._now()

    def pause(self, tries: int) -> float:
        """How long from now, after so many tries that came to nothing since somebody asked for it."""
        if self._interval is None:
            return backoff(tries - 1, self._owner) if tries else 0.0
        return max(self._tried_at + self._interval - self._now(), 0.0)
