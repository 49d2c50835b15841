"""Call dibs on a job, and exactly one machine does it: locks by name, with fences, for threads and tasks."""

from __future__ import annotations

from dibs.client import Dibs, connect
from dibs.errors import (
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

__version__ = "0.1.0"

__all__ = [
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
    "__version__",
    "connect",
]
