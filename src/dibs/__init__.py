"""Call dibs on a job, and exactly one machine does it: locks by name, with fences, for threads and tasks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client import Dibs
    from dibs.errors import (
        ChangedHands,
        ClientClosed,
        ConfigError,
        DibsError,
        LeaseLost,
        LockBusy,
        SelfDeadlock,
        StoreUnreachable,
    )
    from dibs.events import Event, Observer
    from dibs.lease import Lease
    from dibs.lock import Lock, TryLock
    from dibs.model.duration import Duration
    from dibs.model.guarantee import Guarantee
    from dibs.model.views import LockView
    from dibs.opening import connect

__version__ = "0.1.0.dev0"

__all__ = [
    "ChangedHands",
    "ClientClosed",
    "ConfigError",
    "Dibs",
    "DibsError",
    "Duration",
    "Event",
    "Guarantee",
    "Lease",
    "LeaseLost",
    "Lock",
    "LockBusy",
    "LockView",
    "Observer",
    "SelfDeadlock",
    "StoreUnreachable",
    "TryLock",
    "connect",
]

_HOMES = {
    "ChangedHands": "dibs.errors",
    "ClientClosed": "dibs.errors",
    "ConfigError": "dibs.errors",
    "Dibs": "dibs.client",
    "DibsError": "dibs.errors",
    "Duration": "dibs.model.duration",
    "Event": "dibs.events",
    "Guarantee": "dibs.model.guarantee",
    "Lease": "dibs.lease",
    "LeaseLost": "dibs.errors",
    "Lock": "dibs.lock",
    "LockBusy": "dibs.errors",
    "LockView": "dibs.model.views",
    "Observer": "dibs.events",
    "SelfDeadlock": "dibs.errors",
    "StoreUnreachable": "dibs.errors",
    "TryLock": "dibs.lock",
    "connect": "dibs.opening",
}


if not TYPE_CHECKING:  # or a checker would take any misspelt name for granted

    def __getattr__(name: str) -> object:
        """Fetch a public name from its room at its first use: a program that only might need a lock starts at once."""
        if name not in _HOMES:
            raise AttributeError(f"module 'dibs' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415

        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted([*globals(), *_HOMES])
