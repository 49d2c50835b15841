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
    """A lock at one moment: its holders and its queue, first come first. Times are the store's, in epoch seconds."""

    name: str
    seen_at: float
    holders: tuple[Held, ...] = ()
    waiters: tuple[Waiter, ...] = ()

    @property
    def held(self) -> Held | None:
        """Its holder; the first of them where several hold it together."""
        return self.holders[0] if self.holders else None

    @property
    def state(self) -> State:
        """`expiring`: held, but a renewal is overdue."""
        if not self.holders:
            return "free"
        return "expiring" if any(held.ttl_left < held.ttl / 3 for held in self.holders) else "held"


def view(name: str, lock: LockState, now: float) -> LockView:
    """The lock as it stands now."""
    lock = lock.at(now)
    waiters = tuple(Waiter(ticket.who, ticket.purpose, ticket.since) for ticket in lock.queue)
    return LockView(name, now, tuple(held(holder, now) for holder in lock.holders), waiters)
