"""What would have become of a lock's runs, had they been locked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shadowed:
    """One lock's runs in shadow mode, all of which ran, and how many of them dibs would have stopped."""

    name: str
    runs: int
    waited: int
    """So many would have waited for their turn."""
    skipped: int
    """So many would have been refused, since they were not to wait."""
    failed: int
    """So many would have met an error: the store could not be asked, or they waited for themselves."""

    @property
    def stopped(self) -> int:
        """How many did not run alone, or could not know."""
        return self.waited + self.skipped + self.failed
