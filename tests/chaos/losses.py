"""Whether a holder was told of its loss before its lock could be somebody else's."""

from __future__ import annotations

from queue import SimpleQueue

from dibs import Lease, LeaseLost
from dibs.runtime.clock import boottime

LONG = 20.0


class Loss:
    """For `on_lost`: remembers what it was told, and when."""

    def __init__(self) -> None:
        self._told = SimpleQueue[tuple[str, float]]()

    def __call__(self, loss: LeaseLost) -> None:
        self._told.put((loss.reason, boottime()))

    def reason(self, lease: Lease, within: float = LONG) -> str:
        """Wait for it; it must have come before the TTL was over that the store last agreed to."""
        reason, told_at = self._told.get(timeout=within)
        late_by = told_at - (lease._hold.tenure.asked_at + lease.ttl)
        assert late_by < 0, f"told {late_by:.3f} seconds too late"
        assert lease.lost
        return reason
