"""What happened, as frozen values. Everything that reports (logs, metrics, pages, alerts) reads these."""

from __future__ import annotations

from typing import Protocol

from dibs.events.calls import (
    CallAdmitted,
    CalledUnlocked,
    CallSkipped,
    WouldHaveFailed,
    WouldHaveSkipped,
    WouldHaveWaited,
)
from dibs.events.jobs import (
    Acted,
    ClaimingPaused,
    DefinitionOutdated,
    JobEvent,
    JobUnbound,
    NodeDown,
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
    TickPassed,
)
from dibs.events.locks import (
    Abandoned,
    Acquired,
    Adopted,
    CampaignStalled,
    ClosedWhileHolding,
    Evicted,
    FoundBusy,
    HandedOn,
    HeldLong,
    JoinedQueue,
    LetInAgain,
    Lost,
    RefusedInARow,
    Released,
    ReleasedNothing,
)
from dibs.events.stores import (
    ChoseEmbedded,
    ConfigNotice,
    LockingDisabled,
    PolicyOver,
    PolicyUsed,
    StoreBack,
    StoreRisky,
    StoreSilent,
    Stumbled,
)
from dibs.events.workers import (
    PrimaryLost,
    WorkerDied,
    WorkerEnded,
    WorkerEvent,
    WorkerNotUp,
    WorkerReady,
    WorkerRestarting,
    WorkerSilent,
    WorkersLeaving,
    WorkersRolling,
    WorkerStarted,
)

__all__ = [
    "Abandoned",
    "Acquired",
    "Acted",
    "Adopted",
    "CallAdmitted",
    "CallSkipped",
    "CalledUnlocked",
    "CampaignStalled",
    "ChoseEmbedded",
    "ClaimingPaused",
    "ClosedWhileHolding",
    "ConfigNotice",
    "DefinitionOutdated",
    "Event",
    "Evicted",
    "FoundBusy",
    "HandedOn",
    "HeldLong",
    "JobEvent",
    "JobUnbound",
    "JoinedQueue",
    "LetInAgain",
    "LockingDisabled",
    "Lost",
    "NodeDown",
    "Observer",
    "PolicyOver",
    "PolicyUsed",
    "PrimaryLost",
    "RefusedInARow",
    "Released",
    "ReleasedNothing",
    "RunBegun",
    "RunBuried",
    "RunEnded",
    "RunForsaken",
    "RunLeftBehind",
    "RunSlow",
    "ScheduleChanged",
    "ScheduleRetired",
    "Serving",
    "ServingEnded",
    "SheetUnreadable",
    "StoreBack",
    "StoreRisky",
    "StoreSilent",
    "Stumbled",
    "TickPassed",
    "WorkerDied",
    "WorkerEnded",
    "WorkerEvent",
    "WorkerNotUp",
    "WorkerReady",
    "WorkerRestarting",
    "WorkerSilent",
    "WorkerStarted",
    "WorkersLeaving",
    "WorkersRolling",
    "WouldHaveFailed",
    "WouldHaveSkipped",
    "WouldHaveWaited",
]

Event = (
    Acquired
    | JoinedQueue
    | Released
    | FoundBusy
    | RefusedInARow
    | LetInAgain
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
    | JobEvent
    | WorkerEvent
    | Stumbled
)


class Observer(Protocol):
    """A reader of events. It is called where they happen: it must be quick and must not raise."""

    def on(self, event: Event, /) -> None:
        """Take note of one event."""
        ...
