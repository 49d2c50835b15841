"""What happened, as frozen values. Everything that reports (logs, metrics, pages, alerts) reads these."""

from __future__ import annotations

from typing import Protocol

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
class ClosedWhileHolding:
    """A client was closed while leases of its were in use: they end now, and are free when their TTL is over."""

    names: tuple[str, ...]


@value
class ChoseEmbedded:
    """No store was named, so this machine's own is used: programs on other machines are not excluded."""

    server: str


@value
class StoreRisky:
    """The store is set up in a way that may cost locks; each finding says what to do about it."""

    server: str
    findings: tuple[str, ...]


@value
class StoreSilent:
    """The store did not answer; what depends on it is unsure until it does."""

    server: str
    why: str


@value
class StoreBack:
    """The store answers again."""

    after: float


@value
class Stumbled:
    """Something failed that nobody waits for: the keeper's round, or a callback of the user's."""

    doing: str
    error: str


Event = (
    Acquired
    | JoinedQueue
    | Released
    | FoundBusy
    | Lost
    | HeldLong
    | Evicted
    | Abandoned
    | ClosedWhileHolding
    | ChoseEmbedded
    | StoreRisky
    | StoreSilent
    | StoreBack
    | Stumbled
)


class Observer(Protocol):
    """A reader of events. It is called where they happen: it must be quick and must not raise."""

    def on(self, event: Event, /) -> None:
        """Take note of one event."""
        ...
