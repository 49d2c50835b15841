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
class CallAdmitted:
    """A function that is skipped where others are at work has got its lock, at the first try or a later one."""

    name: str
    function: str
    attempt: int


@value
class CallSkipped:
    """A function was not called: somebody else has its lock ("busy"), it was "done" before, or there is an "outage"."""

    name: str
    function: str
    why: str
    holder: str = ""


@value
class CalledUnlocked:
    """A function was called without its lock, since `workflow.lock.enabled` is false. Only the first call is told."""

    name: str
    function: str


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
class WouldHaveWaited:
    """In shadow mode: this run began at once, and would have waited for its turn."""

    name: str
    holder: str
    waiters: int


@value
class WouldHaveSkipped:
    """In shadow mode: this run would have been refused, since somebody else has the lock and it is not to wait."""

    name: str
    holder: str


@value
class WouldHaveFailed:
    """In shadow mode: this run would have met an error."""

    name: str
    why: str


@value
class Serving:
    """A node takes part in running these jobs."""

    node: str
    jobs: tuple[str, ...]


@value
class ServingEnded:
    """A node has stopped to take part; so many runs were not ended, and were handed back or given up."""

    node: str
    unfinished: int


@value
class RunBegun:
    """This node runs a tick of a job, so many seconds after its time."""

    job: str
    tick: float
    attempt: int
    fence: int
    lateness: float


@value
class RunEnded:
    """An attempt of this node's has ended; unless it `is_last`, another follows."""

    job: str
    tick: float
    attempt: int
    outcome: str
    reason: str
    duration: float
    is_last: bool


@value
class RunSlow:
    """A run takes longer than is expected of it."""

    job: str
    tick: float
    attempt: int
    running_for: float
    expect: float


@value
class RunForsaken:
    """A run of this node's does not count any more: it could not be renewed in time, or was given to another node."""

    job: str
    tick: float
    attempt: int
    reason: str


@value
class RunBuried:
    """Another node's run was given up, as it was not renewed; unless it `is_last`, it is begun once more."""

    job: str
    tick: float
    attempt: int
    node: str
    is_last: bool


@value
class TickPassed:
    """A tick was not run: it was "missed" or "skipped"."""

    job: str
    tick: float
    outcome: str
    reason: str


@value
class ClaimingPaused:
    """For so many seconds this node claims nothing: the store's clock has jumped, or the store was started anew."""

    server: str
    why: str
    lasts: float


@value
class Stumbled:
    """Something failed that nobody waits for: the keeper's round, a callback of yours, or remembering a result."""

    doing: str
    error: str


Event = (
    Acquired
    | JoinedQueue
    | Released
    | FoundBusy
    | CallAdmitted
    | CallSkipped
    | CalledUnlocked
    | ReleasedNothing
    | Lost
    | HeldLong
    | Evicted
    | Abandoned
    | HandedOn
    | Adopted
    | CampaignStalled
    | ClosedWhileHolding
    | ChoseEmbedded
    | ConfigNotice
    | StoreRisky
    | StoreSilent
    | StoreBack
    | PolicyUsed
    | PolicyOver
    | LockingDisabled
    | WouldHaveWaited
    | WouldHaveSkipped
    | WouldHaveFailed
    | Serving
    | ServingEnded
    | RunBegun
    | RunEnded
    | RunSlow
    | RunForsaken
    | RunBuried
    | TickPassed
    | ClaimingPaused
    | Stumbled
)


class Observer(Protocol):
    """A reader of events. It is called where they happen: it must be quick and must not raise."""

    def on(self, event: Event, /) -> None:
        """Take note of one event."""
        ...
