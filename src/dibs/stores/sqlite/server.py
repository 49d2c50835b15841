"""The transition table of the model, said in SQL: one turn is one write transaction on a few rows.

What has expired is dropped when it is met, by rows of the one lock that is asked about; nothing here looks at all
locks, or at the whole of a long queue, except to list them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dibs.model.asks import (
    Acquire,
    Answer,
    Ask,
    Busy,
    Evict,
    Granted,
    KeepAlive,
    Leave,
    Push,
    Queued,
    Renew,
    Said,
    StillQueued,
)
from dibs.model.fence import next_fence
from dibs.model.lock import MOST_WAITERS, Holder, held
from dibs.stores.sqlite.row import LOOK, Row, Ticket
from dibs.stores.sqlite.schema import FORMAT, check
from dibs.stores.sqlite.views import view, views


class SqliteTurn:
    """One command, carried out within a transaction that is open already."""

    def __init__(
        self, db: sqlite3.Connection, now: float, wall: float, boot: str, listens: Callable[[str], bool]
    ) -> None:
        self._db, self._now, self._wall, self._boot, self._listens = db, now, wall, boot, listens
        self.pushes: list[Push] = []

    def execute(self, words: Sequence[Any]) -> Any:
        """Do it; what is to be told to others is in `pushes` then."""
        match words:
            case ("ask", name, ask):
                return self.turn(name, ask)
            case ("keep", asks):
                return [self.turn(name, ask) for name, ask in asks]
            case ("inspect", name):
                return view(self._db, name, now=self._now, wall=self._wall)
            case ("held", prefix, limit):
                return views(self._db, prefix, limit, now=self._now, wall=self._wall)
            case _:
                return self._now

    def turn(self, name: str, ask: Ask) -> Answer:
        """Do one cell of the table, then serve the queue."""
        lock = self._look(name)
        answer = _CELLS[type(ask)](self, lock, ask)
        if lock.holder is None and lock.waiters:
            self._serve(lock, asker=getattr(ask, "owner", "") if answer is None else "")
        if answer is None:
            answer = self._found(lock, ask)
        lock.keep()
        return answer

    def _look(self, name: str) -> Row:
        """The lock without what has expired."""
        found = self._db.execute(LOOK, (name,)).fetchone()
        if found[0] != FORMAT or found[1] != self._boot:
            check(found[0], found[1], self._boot)
        lock = Row(self._db, name, found)
        lock.drop_expired(self._now)
        return lock

    # The cells of the table. Each gives an answer only where serving the queue cannot change it.

    def acquire(self, lock: Row, ask: Acquire) -> Answer | None:
        """Take the lock or a place in the queue."""
        if self._now > ask.not_after or lock.is_barred(ask.owner, self._now):
            return Said.REFUSED
        if lock.holder is None and not lock.waiters:
            self._grant(lock, ask.owner, ask.ttl, ask.channel, ask.who, ask.purpose, seen=ask.seen)
        elif lock.is_held_by(ask.owner):
            lock.prolong(self._now + ask.ttl)
        elif lock.holder is None or ask.queue:
            self._join(lock, ask)
        return None

    def keep_alive(self, lock: Row, ask: KeepAlive) -> Answer | None:
        """Keep a place, or a lock that was handed over unheard."""
        until = self._now + ask.ttl
        if lock.is_held_by(ask.owner):
            lock.prolong(until)
            return None
        return None if lock.refresh(ask.owner, until) else Said.GONE

    def renew(self, lock: Row, ask: Renew) -> Answer:
        """Keep a lease."""
        if lock.holder is None or lock.holder.owner != ask.owner or lock.holder.fence != ask.fence:
            return Said.GONE
        lock.prolong(self._now + ask.ttl)
        return Said.KEPT

    def leave(self, lock: Row, ask: Leave) -> Answer:
        """Give up a ticket or a lease."""
        if ask.bar_until is not None and ask.bar_until >= self._now:
            lock.bar(ask.owner, ask.bar_until)
        if lock.is_held_by(ask.owner):
            lock.hold(None)
            return Said.RELEASED
        return Said.LEFT if lock.forget(ask.owner) else Said.GONE

    def evict(self, lock: Row, ask: Evict) -> Answer:
        """Take the lock from its holder."""
        if lock.holder is None:
            return Said.GONE
        if lock.holder.fence != ask.fence:
            return Said.CHANGED
        self.pushes.append(Push(lock.holder.channel, lock.holder.owner, lock.holder.fence, "evicted"))
        lock.last_fence += 1
        lock.hold(None)
        return Said.EVICTED

    # What the cells are made of.

    def _join(self, lock: Row, ask: Acquire) -> None:
        """Stand in the queue: as before if it did already, else at its end, unless that is too far away."""
        until = self._now + ask.ttl
        if not lock.refresh(ask.owner, until) and lock.waiters < MOST_WAITERS:
            lock.join(ask, until, self._wall)

    def _serve(self, lock: Row, asker: str) -> None:
        """Give the free lock to the first live ticket; tell its process, unless it is the one who asks."""
        ticket = self._first_live(lock, asker)
        if ticket is None:
            return
        place, owner, ttl, channel, who, purpose, seen = ticket
        lock.serve(place)
        fence = self._grant(lock, owner, ttl, channel, who, purpose, seen=seen)
        if owner != asker:
            self.pushes.append(Push(channel, owner, fence, "handed"))

    def _first_live(self, lock: Row, asker: str) -> Ticket | None:
        if lock.head is not None and (lock.head[1] == asker or self._listens(lock.head[3])):
            return lock.head
        deaf: set[str] = set()  # many tickets may be of one process that died
        for ticket in lock.tickets():
            owner, channel = ticket[1], ticket[3]
            if owner == asker or (channel not in deaf and self._listens(channel)):
                return ticket
            deaf.add(channel)
        return None

    def _grant(self, lock: Row, owner: str, ttl: float, channel: str, who: str, purpose: str, *, seen: int) -> int:
        fence = lock.last_fence = next_fence(last=lock.last_fence, now=self._wall, seen=seen)
        lock.hold(Holder(owner, fence, ttl, self._wall, self._now + ttl, channel, who, purpose))
        return fence

    def _found(self, lock: Row, ask: Any) -> Answer:
        """The answer to one who wants the lock: read off where the turn has left it."""
        holder = lock.holder
        if holder is None:
            return Said.REFUSED
        if holder.owner == ask.owner:
            return Granted(holder.fence)
        again = min(holder.expires_at - self._now, lock.shortest)
        if isinstance(ask, KeepAlive):
            return StillQueued(again)
        position = lock.position(ask.owner) if ask.queue else None
        if position is None:
            lock.forget(ask.owner)
            return Busy(held(holder, self._now), lock.waiters)
        return Queued(position, again, held(holder, self._now))


_CELLS: Mapping[type[Ask], Callable[[SqliteTurn, Row, Any], Answer | None]] = {
    Acquire: SqliteTurn.acquire,
    KeepAlive: SqliteTurn.keep_alive,
    Renew: SqliteTurn.renew,
    Leave: SqliteTurn.leave,
    Evict: SqliteTurn.evict,
}
