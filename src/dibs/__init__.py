"""Call dibs on a job, and exactly one machine does it: locks by name, with fences, for threads and tasks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs import fenced
    from dibs.client import Dibs
    from dibs.config import Config
    from dibs.control.backfill import Backfill
    from dibs.control.schedules import Schedules
    from dibs.control.steps import StepView
    from dibs.control.views import BackfillView, PauseView, PendingRun, ScheduleView
    from dibs.errors import (
        ActRefused,
        ChangedHands,
        ClientClosed,
        ConfigError,
        DibsError,
        LeaseLost,
        LockBusy,
        NoFence,
        NoSuchJob,
        RunStopped,
        SelfDeadlock,
        StaleFence,
        StoreUnreachable,
    )
    from dibs.events import Event, Observer
    from dibs.explanation import Explanation, explain
    from dibs.family import RLock, RWLock
    from dibs.job import Job, JobMethod
    from dibs.leader import Leader, Term, Terms
    from dibs.lease import Lease
    from dibs.lock import Lock, TryLock
    from dibs.model.duration import Duration
    from dibs.model.guarantee import Guarantee
    from dibs.model.rounds import Finish, StatusLevel
    from dibs.model.shadowed import Shadowed
    from dibs.model.stats import LockStats, Stats
    from dibs.model.timings import Spread
    from dibs.model.views import LockView
    from dibs.opening import connect
    from dibs.questions.history import ActView, RunView, Timings
    from dibs.questions.holds import HoldView
    from dibs.questions.outlook import Forecast, NodeView, Upcoming
    from dibs.questions.pages import Page
    from dibs.questions.reasons import Why
    from dibs.run import Run
    from dibs.skipped import Skipped
    from dibs.supervision import supervise
    from dibs.together import Leases, LockAll
    from dibs.worker import Attempt, Attempts, Worker

__version__ = "0.1.0.dev0"

__all__ = [
    "ActRefused",
    "ActView",
    "Attempt",
    "Attempts",
    "Backfill",
    "BackfillView",
    "ChangedHands",
    "ClientClosed",
    "Config",
    "ConfigError",
    "Dibs",
    "DibsError",
    "Duration",
    "Event",
    "Explanation",
    "Finish",
    "Forecast",
    "Guarantee",
    "HoldView",
    "Job",
    "JobMethod",
    "Leader",
    "Lease",
    "LeaseLost",
    "Leases",
    "Lock",
    "LockAll",
    "LockBusy",
    "LockStats",
    "LockView",
    "NoFence",
    "NoSuchJob",
    "NodeView",
    "Observer",
    "Page",
    "PauseView",
    "PendingRun",
    "RLock",
    "RWLock",
    "Run",
    "RunStopped",
    "RunView",
    "ScheduleView",
    "Schedules",
    "SelfDeadlock",
    "Shadowed",
    "Skipped",
    "Spread",
    "StaleFence",
    "Stats",
    "StatusLevel",
    "StepView",
    "StoreUnreachable",
    "Term",
    "Terms",
    "Timings",
    "TryLock",
    "Upcoming",
    "Why",
    "Worker",
    "connect",
    "explain",
    "fenced",
    "supervise",
]

_HOMES = {
    "ActRefused": "dibs.errors",
    "ActView": "dibs.questions.history",
    "Attempt": "dibs.worker",
    "Attempts": "dibs.worker",
    "Backfill": "dibs.control.backfill",
    "BackfillView": "dibs.control.views",
    "ChangedHands": "dibs.errors",
    "ClientClosed": "dibs.errors",
    "Config": "dibs.config",
    "ConfigError": "dibs.errors",
    "Dibs": "dibs.client",
    "DibsError": "dibs.errors",
    "Duration": "dibs.model.duration",
    "Event": "dibs.events",
    "Explanation": "dibs.explanation",
    "Finish": "dibs.model.rounds",
    "Forecast": "dibs.questions.outlook",
    "Guarantee": "dibs.model.guarantee",
    "HoldView": "dibs.questions.holds",
    "Job": "dibs.job",
    "JobMethod": "dibs.job",
    "Leader": "dibs.leader",
    "Lease": "dibs.lease",
    "LeaseLost": "dibs.errors",
    "Leases": "dibs.together",
    "Lock": "dibs.lock",
    "LockAll": "dibs.together",
    "LockBusy": "dibs.errors",
    "LockStats": "dibs.model.stats",
    "LockView": "dibs.model.views",
    "NoFence": "dibs.errors",
    "NoSuchJob": "dibs.errors",
    "NodeView": "dibs.questions.outlook",
    "Observer": "dibs.events",
    "Page": "dibs.questions.pages",
    "PauseView": "dibs.control.views",
    "PendingRun": "dibs.control.views",
    "RLock": "dibs.family",
    "RWLock": "dibs.family",
    "Run": "dibs.run",
    "RunStopped": "dibs.errors",
    "RunView": "dibs.questions.history",
    "ScheduleView": "dibs.control.views",
    "Schedules": "dibs.control.schedules",
    "SelfDeadlock": "dibs.errors",
    "Shadowed": "dibs.model.shadowed",
    "Skipped": "dibs.skipped",
    "Spread": "dibs.model.timings",
    "StaleFence": "dibs.errors",
    "Stats": "dibs.model.stats",
    "StatusLevel": "dibs.model.rounds",
    "StepView": "dibs.control.steps",
    "StoreUnreachable": "dibs.errors",
    "Term": "dibs.leader",
    "Terms": "dibs.leader",
    "Timings": "dibs.questions.history",
    "TryLock": "dibs.lock",
    "Upcoming": "dibs.questions.outlook",
    "Why": "dibs.questions.reasons",
    "Worker": "dibs.worker",
    "connect": "dibs.opening",
    "explain": "dibs.explanation",
    "fenced": "dibs",  # a room of its own
    "supervise": "dibs.supervision",
}


if not TYPE_CHECKING:  # or a checker would take any misspelt name for granted

    def __getattr__(name: str) -> object:
        """Fetch a public name from its room at its first use: a program that only might need a lock starts at once."""
        if name not in _HOMES:
            raise AttributeError(f"module 'dibs' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415

        home = _HOMES[name]
        is_room = home == __name__
        found = import_module(f"{home}.{name}") if is_room else getattr(import_module(home), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted([*globals(), *_HOMES])
