"""Events as log lines of the `dibs` logger."""

from __future__ import annotations

import logging

from dibs.events import (
    Abandoned,
    Acquired,
    Acted,
    Adopted,
    CallAdmitted,
    CalledUnlocked,
    CallSkipped,
    CampaignStalled,
    ChoseEmbedded,
    ClaimingPaused,
    ClosedWhileHolding,
    ConfigNotice,
    DefinitionOutdated,
    Event,
    Evicted,
    FoundBusy,
    HandedOn,
    HeldLong,
    JobUnbound,
    JoinedQueue,
    LetInAgain,
    LockingDisabled,
    Lost,
    NodeDown,
    PolicyOver,
    PolicyUsed,
    RefusedInARow,
    Released,
    ReleasedNothing,
    RunBegun,
    RunBuried,
    RunEnded,
    RunForsaken,
    RunLeftBehind,
    RunSlow,
    ScheduleChanged,
    ScheduleRetired,
    Serving,
    ServingEnded,
    SheetUnreadable,
    StoreBack,
    StoreRisky,
    StoreSilent,
    Stumbled,
    TickPassed,
    WorkerEvent,
    WouldHaveFailed,
    WouldHaveSkipped,
    WouldHaveWaited,
)
from dibs.model import tenure
from dibs.model.duration import spoken
from dibs.model.ticks import moment
from dibs.observe.jobs import told_of_jobs
from dibs.observe.workers import WORKER_LEVELS, told_of_workers

_LEVELS: dict[type[Event], int] = {
    Acquired: logging.DEBUG,
    JoinedQueue: logging.DEBUG,
    Released: logging.DEBUG,
    FoundBusy: logging.DEBUG,
    RefusedInARow: logging.WARNING,
    LetInAgain: logging.INFO,
    CallAdmitted: logging.INFO,
    CallSkipped: logging.INFO,
    CalledUnlocked: logging.WARNING,
    ReleasedNothing: logging.WARNING,
    Lost: logging.ERROR,
    HeldLong: logging.WARNING,
    Evicted: logging.WARNING,
    Abandoned: logging.WARNING,
    HandedOn: logging.DEBUG,
    Adopted: logging.DEBUG,
    CampaignStalled: logging.WARNING,
    ClosedWhileHolding: logging.WARNING,
    ChoseEmbedded: logging.WARNING,
    ConfigNotice: logging.WARNING,
    StoreRisky: logging.WARNING,
    StoreSilent: logging.WARNING,
    StoreBack: logging.INFO,
    PolicyUsed: logging.WARNING,
    PolicyOver: logging.WARNING,
    LockingDisabled: logging.WARNING,
    WouldHaveWaited: logging.INFO,
    WouldHaveSkipped: logging.INFO,
    WouldHaveFailed: logging.WARNING,
    Serving: logging.INFO,
    JobUnbound: logging.WARNING,
    ServingEnded: logging.INFO,
    RunBegun: logging.DEBUG,
    RunEnded: logging.INFO,
    RunSlow: logging.WARNING,
    RunForsaken: logging.ERROR,
    RunLeftBehind: logging.ERROR,
    RunBuried: logging.WARNING,
    TickPassed: logging.WARNING,
    ClaimingPaused: logging.WARNING,
    ScheduleChanged: logging.WARNING,
    DefinitionOutdated: logging.WARNING,
    ScheduleRetired: logging.WARNING,
    Acted: logging.INFO,
    NodeDown: logging.WARNING,
    SheetUnreadable: logging.WARNING,
    Stumbled: logging.ERROR,
    **WORKER_LEVELS,
}
_FAILURES = frozenset({"failed", "timeout", "lost"})
"""Ends of a run that somebody should look into."""


_DONE_WITHOUT = {
    "open": "goes on without a lock",
    "local": "is locked for this machine only",
    "skip": "is skipped",
}


class LogReader:
    """Writes each event as one line, with the event itself as `record.event`."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("dibs")

    def on(self, event: Event, /) -> None:
        level = _level(event)
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", sentence(event), extra={"event": event})


def _level(event: Event) -> int:
    if isinstance(event, Lost) and event.reason == tenure.NOT_RENEWED:
        return logging.INFO
    if isinstance(event, RunEnded) and event.outcome in _FAILURES:
        return logging.ERROR if event.is_last else logging.WARNING
    return _LEVELS[type(event)]


def sentence(event: Event) -> str:
    """The event in words."""
    if isinstance(event, WorkerEvent):
        return told_of_workers(event)
    match event:
        case Acquired(name, fence, waited):
            return f"acquired {name!r} (fence {fence}) after {spoken(waited)}"
        case JoinedQueue(name, holder, position):
            return f"waits for {name!r}, held by {holder}, behind {position} others"
        case Released(name, fence, held_for):
            return f"released {name!r} (fence {fence}) after {spoken(held_for)}"
        case FoundBusy(name, holder, waited):
            return f"{name!r} is held by {holder}; gave up after {spoken(waited)}"
        case RefusedInARow(name, times, since, holder):
            by = f"; it is held by {holder}" if holder else ""
            return f"{name!r} was refused {times} times in a row here, since {moment(since)}{by}: is it stuck?"
        case LetInAgain(name, times, since):
            return f"{name!r} was had again, after {times} refusals in a row since {moment(since)}"
        case CallAdmitted(name, function, attempt):
            return f"Lock acquired: {name} (attempt {attempt}) for {function}"
        case CallSkipped(name, function, "busy", holder):
            return f"Skipping execution - lock held by another instance: {name} ({holder}) for {function}"
        case CallSkipped(name, function, why):
            return f"Skipping execution - {why}: {name} for {function}"
        case CalledUnlocked(name, function):
            return (
                f"called {function} without the lock {name!r}, and so is all that is executed with a lock here: "
                "workflow.lock.enabled is false"
            )
        case ReleasedNothing(name, why):
            return f"did not release {name!r}: {why}"
        case Lost(name, fence, tenure.NOT_RENEWED):
            return f"{name!r} (fence {fence}) ran out as planned: {tenure.NOT_RENEWED}"
        case Lost(name, fence, reason):
            return f"lost {name!r} (fence {fence}): {reason}"
        case HeldLong(name, fence, held_for, ttl):
            return (
                f"{name!r} (fence {fence}) has been held for {spoken(held_for)} at a TTL of {spoken(ttl)}: is it stuck?"
            )
        case Evicted(name, fence, reason):
            return f"{name!r} (fence {fence}) was released by force: {reason or 'no reason given'}"
        case Abandoned(name, fence):
            return f"{name!r} (fence {fence}) was never released: its lease was dropped, and is given back now"
        case HandedOn(name, fence, held_for):
            return f"handed {name!r} (fence {fence}) on after {spoken(held_for)}"
        case Adopted(name, fence):
            return f"adopted {name!r} (fence {fence})"
        case CampaignStalled(name, server, why):
            return f"cannot stand for {name!r}, no word from {server}: {why}; goes on asking"
        case ClosedWhileHolding(names):
            return f"closed while holding {', '.join(map(repr, names))}: free when their TTL is over"
        case ChoseEmbedded(server):
            return (
                f"no store was named: using {server}, which only programs of this user on this machine share; "
                "to lock across machines set DIBS_URL (or DIBS_REQUIRE_SHARED=1, to be refused instead)"
            )
        case ConfigNotice(texts):
            return f"in the configuration: {'; '.join(texts)}"
        case StoreRisky(server, findings):
            return f"{server} may lose locks: {'; '.join(findings)}"
        case StoreSilent(server, why):
            return f"no word from {server}: {why}"
        case StoreBack(after):
            return f"the store answers again, after {spoken(after)}"
        case PolicyUsed(name, policy, why):
            return f"{name!r} {_DONE_WITHOUT[policy]}, as on_outage={policy!r} says: {why}"
        case PolicyOver(server, after, uses):
            return f"locks come from {server} again, after {spoken(after)} and {uses} times without it"
        case LockingDisabled(server):
            return f"locking is off (enabled=False): locks exclude nobody, and {server} is not asked"
        case WouldHaveWaited(name, holder, waiters):
            return f"shadow: {name!r} would have waited for {holder}, behind {waiters} others"
        case WouldHaveSkipped(name, holder):
            return f"shadow: {name!r} would have been refused, as {holder} has it"
        case WouldHaveFailed(name, why):
            return f"shadow: {name!r} would have failed: {why}"
        case Stumbled(doing, error):
            return f"failed while {doing}: {error}"
        case _:
            return told_of_jobs(event)
