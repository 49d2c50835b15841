"""Call dibs on a job, and exactly one machine does it: locks by name, with fences, for threads and tasks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs import fenced
    from dibs.client import Dibs
    from dibs.config import Config
    from dibs.errors import (
        ChangedHands,
        ClientClosed,
        ConfigError,
        DibsError,
        LeaseLost,
        LockBusy,
        NoFence,
        RunStopped,
        SelfDeadlock,
        StaleFence,
        StoreUnreachable,
    )
    from dibs.events import Event, Observer
    from dibs.explanation import Explanation, explain
    from dibs.family import RLock, RWLock
    from dibs.history import RunView
    from dibs.job import Job, JobMethod
    from dibs.leader import Leader, Term, Terms
    from dibs.lease import Lease
    from dibs.lock import Lock, TryLock
    from dibs.model.duration import Duration
    from dibs.model.guarantee import Guarantee
    from dibs.model.shadowed import Shadowed
    from dibs.model.stats import LockStats, Stats
    from dibs.model.views import LockView
    from dibs.opening import connect
    from dibs.run import Run
    from dibs.skipped import Skipped
    from dibs.together import Leases, LockAll

__version__ = "0.1.0.dev0"

__all__ = [
    "ChangedHands",
    "ClientClosed",
    "Config",
    "ConfigError",
    "Dibs",
    "DibsError",
    "Duration",
    "Event",
    "Explanation",
    "Guarantee",
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
    "Observer",
    "RLock",
    "RWLock",
    "Run",
    "RunStopped",
    "RunView",
    "SelfDeadlock",
    "Shadowed",
    "Skipped",
    "StaleFence",
    "Stats",
    "StoreUnreachable",
    "Term",
    "Terms",
    "TryLock",
    "connect",
    "explain",
    "fenced",
]

_HOMES = {
    "ChangedHands": "dibs.errors",
    "ClientClosed": "dibs.errors",
    "Config": "dibs.config",
    "ConfigError": "dibs.errors",
    "Dibs": "dibs.client",
    "DibsError": "dibs.errors",
    "Duration": "dibs.model.duration",
    "Event": "dibs.events",
    "Explanation": "dibs.explanation",
    "Guarantee": "dibs.model.guarantee",
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
    "Observer": "dibs.events",
    "RLock": "dibs.family",
    "RWLock": "dibs.family",
    "Run": "dibs.run",
    "RunStopped": "dibs.errors",
    "RunView": "dibs.history",
    "SelfDeadlock": "dibs.errors",
    "Shadowed": "dibs.model.shadowed",
    "Skipped": "dibs.skipped",
    "StaleFence": "dibs.errors",
    "Stats": "dibs.model.stats",
    "StoreUnreachable": "dibs.errors",
    "Term": "dibs.leader",
    "Terms": "dibs.leader",
    "TryLock": "dibs.lock",
    "connect": "dibs.opening",
    "explain": "dibs.explanation",
    "fenced": "dibs",  # a room of its own
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
