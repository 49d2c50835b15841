"""A time of leading, as its leader sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import DibsError

if TYPE_CHECKING:
    from dibs.lease import Lease
    from dibs.runtime.farewell import Farewell

RESIGNED = "it was resigned"


class Term:
    """A time of leading, under a lease: its fence is the number of the term, and higher than that of all before."""

    def __init__(self, lease: Lease, farewell: Farewell[Term]) -> None:
        self._lease, self._farewell = lease, farewell

    @property
    def name(self) -> str:
        """The name of what is led."""
        return self._lease.name

    @property
    def fence(self) -> int:
        """The number to send along with every write."""
        return self._lease.fence

    @property
    def waited(self) -> float:
        """How long it stood in the queue for it, in seconds."""
        return self._lease.waited

    @property
    def remaining(self) -> float:
        """For how many seconds we lead for sure if nothing renews the lease; 0 when the term is over."""
        return self._lease.remaining

    @property
    def lost(self) -> bool:
        """Whether it ended without our doing."""
        return self._lease.lost

    @property
    def ended(self) -> bool:
        """Whether it is over, lost or resigned: then stop."""
        return self._lease.remaining == 0

    def ensure(self) -> None:
        """Raise `LeaseLost` unless we still lead. Cheap: it asks our own clock, not the store."""
        self._lease.ensure()

    def resign(self) -> None:
        """Let the next one lead, now; a silent store is told when it answers. Again, or after a loss, is harmless."""
        reason = RESIGNED
        try:
            self._lease.release()
        except DibsError as trouble:
            reason = getattr(trouble, "reason", reason)
        finally:
            self._farewell.end(self, reason)

    async def aresign(self) -> None:
        """Let the next one lead, now; a silent store is told when it answers. Again, or after a loss, is harmless."""
        reason = RESIGNED
        try:
            await self._lease.arelease()
        except DibsError as trouble:
            reason = getattr(trouble, "reason", reason)
        finally:
            self._farewell.end(self, reason)

    def __repr__(self) -> str:
        return f"<Term {self.name!r} fence={self.fence} {'ended' if self.ended else 'stands'}>"
