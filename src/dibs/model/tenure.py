"""How long a holder may believe that it holds: trust counts from when we asked, less a margin."""

from __future__ import annotations

from enum import Enum
from typing import Final

from dibs.model.value import value

MARGIN = 0.1
"""The share of a TTL given up for clocks that run at different rates and threads that wake late."""

NOT_RENEWED = "its TTL is over and it was not to be renewed"
"""How a lease ends that was taken for a fixed time: as planned, if its work is over, too."""


class Verdict(Enum):
    """What the holder's own clock says of its lease."""

    KEEP = "keep"
    RENEW = "renew"
    UNSURE = "unsure"
    LOST = "lost"


KEEP: Final = Verdict.KEEP
LOST: Final = Verdict.LOST
"""By a name of their own: to look up a member in an enum takes Python 3.11 as long as to make three objects."""


@value
class Tenure:
    """A span of trust, in seconds of the holder's own clock."""

    ttl: float
    asked_at: float

    @property
    def renew_at(self) -> float:
        """When to ask for more: two further tries fit in before trust ends."""
        return self.asked_at + self.ttl / 3

    @property
    def unsure_at(self) -> float:
        """From here on a renewal is overdue: it was asked for, and nobody answered."""
        return self.asked_at + self.ttl * 2 / 3

    @property
    def trusted_until(self) -> float:
        """The end of trust, before the store could let anybody else in."""
        return self.asked_at + self.ttl * (1 - MARGIN)

    def judge(self, now: float) -> Verdict:
        """Whether the lease stands at this moment."""
        if now < self.asked_at + self.ttl / 3:  # as `renew_at`; nearly every look ends here
            return KEEP
        if now < self.unsure_at:
            return Verdict.RENEW
        return Verdict.UNSURE if now < self.trusted_until else LOST

    def is_stale(self, now: float) -> bool:
        """Too old to enter by, though not over: a grant heard this late is confirmed first."""
        return now > self.asked_at + self.ttl / 2

    def or_longer(self, other: Tenure) -> Tenure:
        """Of two answers about one lease the one that reaches further; trust never moves back."""
        return other if other.trusted_until > self.trusted_until else self
