"""What happens to stores, and what a client makes of it."""

from __future__ import annotations

from dibs.model.value import value


@value
class ChoseEmbedded:
    """No store was named, so this machine's own is used: programs on other machines are not excluded."""

    server: str


@value
class ConfigNotice:
    """Something in the configuration does nothing here; each text says what, and why."""

    texts: tuple[str, ...]


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
class PolicyUsed:
    """The store is silent, and a lock was done without: by "open", "local" or "skip", as `on_outage` says."""

    name: str
    policy: str
    why: str


@value
class PolicyOver:
    """Locks come from the store again, after so long, and after they were done without so many times."""

    server: str
    after: float
    uses: int


@value
class LockingDisabled:
    """A client was made with `enabled=False`: its locks exclude nobody."""

    server: str


@value
class Stumbled:
    """Something failed that nobody waits for: the keeper's round, a callback of yours, or remembering a result."""

    doing: str
    error: str
