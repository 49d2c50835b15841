"""What people see of a lock when they look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dibs.model.asks import Held
from dibs.model.lock import LockState, held

State = Literal["free", "held", "expiring"]


@dataclass(frozen=True, slots=True)
class Waiter:
    """One who stands in the queue."""

    who: str
    purpose: str
    since: float


@dataclass(frozen=True, slots=True)
class LockView:
    """A lock at one moment: its holder and its queue, first come first. Times are the store's, in epoch seconds."""

    name: str
    seen_at: float
    held: Held | None
    waiters: tuple[Waiter, ...] = ()

    @property
    def state(self) -> State:
        """`expiring`: held, but its renewal is overdue."""
        if self.held is None:
            return "free"
        return "expiring" if self.held.ttl_left < self.held.ttl / 3 else "held"


def view(name: str, lock: LockState, now: float) -> LockView:
    """The lock as it stands now."""
    lock = lock.at(now)
    waiters = tuple(Waiter(ticket.who, ticket.purpose, ticket.since) for ticket in lock.queue)
    return LockView(name, now, held(lock.holder, now) if lock.holder else None, waiters)
