"""The thing under the lock: a counter that trusts no lock, and so can say whether the lock was any good."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class Ledger:
    """A counter to be read, worked on and written back.

    It refuses whoever comes with a fence below the newest, and notices whoever is not alone. Its mutex guards
    its own few lines only; between `enter` and `leave` nothing but the caller's lock keeps others out.
    """

    def __init__(self, workers: Iterable[str]) -> None:
        self.turns = dict.fromkeys(workers, 0)
        self.value = self.writes = self.handovers = 0
        self.newest = self.refused = self.overlaps = self.repeated = 0
        self._inside = 0
        self._last = ""
        self._mutex = threading.Lock()

    def enter(self, fence: int) -> int | None:
        """The value so far, to be worked on; `None` for one who comes too late."""
        with self._mutex:
            if fence < self.newest:
                self.refused += 1
                return None
            self.repeated += fence == self.newest
            self.newest = fence
            self.overlaps += self._inside > 0
            self._inside += 1
            return self.value

    def leave(self, worker: str, value: int) -> None:
        """Write the new value."""
        with self._mutex:
            self._inside -= 1
            self.value = value
            self.writes += 1
            self.turns[worker] += 1
            self.handovers += worker != self._last
            self._last = worker

    def faults(self) -> list[str]:
        """All that speaks against the lock, in words; nothing if it was good."""
        found = [
            (self.overlaps, f"times that somebody else was inside already: {self.overlaps}"),
            (self.repeated, f"fences that did not rise: {self.repeated}"),
            (self.writes - self.value, f"writes that were lost: {self.writes - self.value} of {self.writes}"),
            (not self.writes, "nobody ever got inside"),
        ]
        return [words for is_so, words in found if is_so]


def jain(turns: Collection[float]) -> float:
    """Jain's index of fairness: 1 if all have had the same, 1/n if one has had everything."""
    squares = sum(turn * turn for turn in turns)
    return sum(turns) ** 2 / (len(turns) * squares) if squares else 1.0
