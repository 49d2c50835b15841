"""What the store's clock says now, as far as its answers told us."""

from __future__ import annotations

from dibs.model.value import value


@value
class StoreClock:
    """One reading: the store said `at` in answer to something we asked at `asked_at` of our own clock."""

    at: float
    asked_at: float

    def reading(self, now: float) -> float:
        """The latest that the store's clock can say at this moment of ours."""
        return self.at + (now - self.asked_at)
