"""What happens to locks and leases."""

from __future__ import annotations

from dibs.model.value import value


@value
class Acquired:
    """A lock was granted to us."""

    name: str
    fence: int
    waited: float


@value
class JoinedQueue:
    """We stand in a lock's queue, behind so many others."""

    name: str
    holder: str
    position: int


@value
class Released:
    """We gave a lock back."""

    name: str
    fence: int
    held_for: float


@value
class FoundBusy:
    """We did not get a lock, because somebody else has it."""

    name: str
    holder: str
    waited: float


@value
class RefusedInARow:
    """Somebody else had a lock so many times in a row when we asked for it, since then (epoch seconds): is it stuck?

    Told for every so many refusals as `alert_after_refusals` says.
    """

    name: str
    times: int
    since: float
    holder: str


@value
class LetInAgain:
    """We got a lock that had been refused so many times in a row, since then (epoch seconds), and that was told."""

    name: str
    times: int
    since: float


@value
class ReleasedNothing:
    """A lock was to be released by its name, but this client has no lease on it: nothing was done."""

    name: str
    why: str


@value
class Lost:
    """We had a lock and cannot rely on it any more."""

    name: str
    fence: int
    reason: str


@value
class HeldLong:
    """A lease was renewed for more than ten times its TTL: is its holder stuck?"""

    name: str
    fence: int
    held_for: float
    ttl: float


@value
class Evicted:
    """Somebody took a lock from its holder by force."""

    name: str
    fence: int
    reason: str


@value
class Abandoned:
    """A lease was forgotten without being released; it is released now."""

    name: str
    fence: int


@value
class HandedOn:
    """We stopped to hold a lock and left it taken, for whoever adopts its lease by the token."""

    name: str
    fence: int
    held_for: float


@value
class Adopted:
    """We go on with a lease that another process has handed on."""

    name: str
    fence: int


@value
class CampaignStalled:
    """The store does not answer one who wants to lead; it goes on asking until it is elected."""

    name: str
    server: str
    why: str


@value
class ClosedWhileHolding:
    """A client was closed while leases of its were in use: they end now, and are free when their TTL is over."""

    names: tuple[str, ...]
