"""The time that counts: without what was slept through, and with the seconds in which the job was due."""

from __future__ import annotations

from math import floor

ASLEEP = 1.0
"""If nobody has looked for longer than this, we were stopped, or the whole machine was."""


class Watch:
    """Is looked at all the time, with the moment (of any clock that runs on) and the wall clock's."""

    def __init__(self, now: float, wall: float) -> None:
        self.due: set[int] = set()
        self.slept = self.elapsed = 0.0
        self.slept_through = 0
        self.first_due = floor(wall) + 1
        self._began_at = self._looked_at = now
        self._wall, self._latest = wall, floor(wall)

    def look(self, now: float, wall: float) -> None:
        """Count what has passed since the last look."""
        gap = now - self._looked_at
        self.slept += max(gap - ASLEEP, 0.0)
        self.elapsed = now - self._began_at - self.slept
        passed = range(self._latest + 1, floor(wall) + 1)
        if max(gap, wall - self._wall) > ASLEEP:
            self.slept_through += len(passed)
        else:
            self.due.update(passed)
        self._looked_at, self._wall, self._latest = now, wall, max(self._latest, floor(wall))
