"""What a store keeps of one lock: who holds it, who waits for it, and who is barred from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from dibs.model.asks import Held
from dibs.model.value import value


class Holder(NamedTuple):
    """Who has the lock, by which fence, until when. As a tuple it is a row in a table, too."""

    owner: str
    fence: int
    ttl: float
    since: float
    expires_at: float
    channel: str
    who: str
    purpose: str
    room: int = 1
    depth: int = 0

    def until(self, expires_at: float) -> Holder:
        """The same holder, for longer."""
        return self._replace(expires_at=expires_at)


@value
class Ticket:
    """A place in the queue, dropped unless it is kept alive."""

    owner: str
    ttl: float
    expires_at: float
    channel: str
    who: str
    purpose: str
    seen: int
    since: float
    room: int = 1
    depth: int = 0


@value
class LockState:
    """All that a store keeps of one lock. Blank = as if it had never been heard of."""

    holders: tuple[Holder, ...] = ()
    queue: tuple[Ticket, ...] = ()
    barred: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def is_blank(self) -> bool:
        """Whether nothing is left to remember."""
        return not self.holders and not self.queue and not self.barred

    @property
    def holder(self) -> Holder | None:
        """The first of its holders; of a mutex there is no other."""
        return self.holders[0] if self.holders else None

    def held_by(self, owner: str | None) -> Holder | None:
        """The owner's hold on it."""
        for holder in self.holders:
            if holder.owner == owner:
                return holder
        return None

    def has_room(self, room: int) -> bool:
        """Whether one may enter who allows so many."""
        holders = self.holders
        return not holders or len(holders) < min(room, *(holder.room for holder in holders))

    def ticket(self, owner: str) -> Ticket | None:
        """The owner's place in the queue."""
        return next((ticket for ticket in self.queue if ticket.owner == owner), None)

    def entered(self, ticket: Ticket, fence: int, now: float) -> LockState:
        """The state once the one with this ticket was let in."""
        holder = Holder(
            ticket.owner,
            fence,
            ticket.ttl,
            now,
            now + ticket.ttl,
            ticket.channel,
            ticket.who,
            ticket.purpose,
            ticket.room,
            ticket.depth,
        )
        return LockState((*self.holders, holder), self.queue_without(ticket.owner), self.barred)

    def changed(self, changed: Holder) -> LockState:
        """The state with one of its holders as it is now."""
        holders = tuple(changed if holder.owner == changed.owner else holder for holder in self.holders)
        return LockState(holders, self.queue, self.barred)

    def queue_without(self, owner: str) -> tuple[Ticket, ...]:
        """The queue, should this owner leave it."""
        queue = self.queue
        if len(queue) == 1:  # by far the most common: the asker's own ticket, served at once
            return () if queue[0].owner == owner else queue
        return tuple(ticket for ticket in queue if ticket.owner != owner)

    def at(self, now: float) -> LockState:
        """The state without what has expired by now."""
        holders, queue, barred = self.holders, self.queue, self.barred
        if holders and any(holder.expires_at <= now for holder in holders):
            holders = tuple(holder for holder in holders if holder.expires_at > now)
        if queue and any(ticket.expires_at <= now for ticket in queue):
            queue = tuple(ticket for ticket in queue if ticket.expires_at > now)
        if barred and any(until < now for until in barred.values()):
            barred = {owner: until for owner, until in barred.items() if until >= now}
        if holders is self.holders and queue is self.queue and barred is self.barred:
            return self
        return LockState(holders, queue, barred)


def held(holder: Holder, now: float) -> Held:
    """What others may know of a holder."""
    left = holder.expires_at - now
    return Held(holder.who, holder.purpose, holder.since, holder.ttl, left, holder.fence, holder.room, holder.depth)
