"""Events as log lines of the `dibs` logger."""

from __future__ import annotations

import logging

from dibs.events import (
    Abandoned,
    Acquired,
    ChoseEmbedded,
    ClosedWhileHolding,
    Event,
    Evicted,
    FoundBusy,
    HeldLong,
    JoinedQueue,
    Lost,
    Released,
    StoreBack,
    StoreRisky,
    StoreSilent,
    Stumbled,
)
from dibs.model.duration import spoken

_LEVELS: dict[type[Event], int] = {
    Acquired: logging.DEBUG,
    JoinedQueue: logging.DEBUG,
    Released: logging.DEBUG,
    FoundBusy: logging.DEBUG,
    Lost: logging.ERROR,
    HeldLong: logging.WARNING,
    Evicted: logging.WARNING,
    Abandoned: logging.WARNING,
    ClosedWhileHolding: logging.WARNING,
    ChoseEmbedded: logging.WARNING,
    StoreRisky: logging.WARNING,
    StoreSilent: logging.WARNING,
    StoreBack: logging.INFO,
    Stumbled: logging.ERROR,
}


class LogReader:
    """Writes each event as one line, with the event itself as `record.event`."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("dibs")

    def on(self, event: Event, /) -> None:
        level = _LEVELS[type(event)]
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", sentence(event), extra={"event": event})


def sentence(event: Event) -> str:
    """The event in words."""
    match event:
        case Acquired(name, fence, waited):
            return f"acquired {name!r} (fence {fence}) after {spoken(waited)}"
        case JoinedQueue(name, holder, position):
            return f"waits for {name!r}, held by {holder}, behind {position} others"
        case Released(name, fence, held_for):
            return f"released {name!r} (fence {fence}) after {spoken(held_for)}"
        case FoundBusy(name, holder, waited):
            return f"{name!r} is held by {holder}; gave up after {spoken(waited)}"
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
        case ClosedWhileHolding(names):
            return f"closed while holding {', '.join(map(repr, names))}: free when their TTL is over"
        case ChoseEmbedded(server):
            return (
                f"no store was named: using {server}, which only programs of this user on this machine share; "
                "to lock across machines set DIBS_URL (or DIBS_REQUIRE_SHARED=1, to be refused instead)"
            )
        case StoreRisky(server, findings):
            return f"{server} may lose locks: {'; '.join(findings)}"
        case StoreSilent(server, why):
            return f"no word from {server}: {why}"
        case StoreBack(after):
            return f"the store answers again, after {spoken(after)}"
        case Stumbled(doing, error):
            return f"failed while {doing}: {error}"
