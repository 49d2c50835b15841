"""The transition table of the model, said in SQL: one turn is one write transaction on a few rows.

What has expired is dropped when it is met, by rows of the one lock that is asked about; nothing here looks at all
locks, or at the whole of a long queue, except to list them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias, cast

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
from dibs.model.views import LockView, Waiter
from dibs.stores.sqlite.schema import FORMAT, check


def _of(table: str, columns: str) -> str:
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


_HOLDER = ", ".join(Holder._fields)
NOBODY = (None,) * len(Holder._fields)

_TICKET = "place, owner, ttl, channel, who, purpose, seen"

LOOK = f"""
SELECT format, boot, last_fence, barred_until, waiters, soonest, shortest,
    {_of("lock", _HOLDER)}, {_of("head", _TICKET)}
FROM store LEFT JOIN lock ON lock.name = ?1
LEFT JOIN ticket AS head ON head.name = ?1 AND head.place = (SELECT min(place) FROM ticket WHERE name = ?1)
"""
KEEP_LOCK = "INSERT OR REPLACE INTO lock VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
DROP_LOCK = "DELETE FROM lock WHERE name = ?"
RAISE_FENCE = "UPDATE store SET last_fence = ?"

DROP_EXPIRED = "DELETE FROM ticket WHERE name = ? AND expires_at <= ?"
COUNT_QUEUE = "SELECT count(*), min(expires_at), min(ttl) FROM ticket WHERE name = ?"
JOIN = """
INSERT INTO ticket VALUES
    (?, ifnull((SELECT place FROM ticket WHERE name = ? ORDER BY place DESC LIMIT 1), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?)
"""
REFRESH = "UPDATE ticket SET expires_at = ? WHERE name = ? AND owner = ?"
FORGET = "DELETE FROM ticket WHERE name = ? AND owner = ?"
SERVE = "DELETE FROM ticket WHERE name = ? AND place = ?"
IN_ORDER = f"SELECT {_TICKET} FROM ticket WHERE name = ? ORDER BY place"
AHEAD = """
SELECT count(*) FROM ticket
WHERE name = :name AND place < (SELECT place FROM ticket WHERE name = :name AND owner = :owner)
"""
BARRED = "SELECT 1 FROM bar WHERE name = ? AND owner = ? AND until >= ?"
BARS_UNTIL = "UPDATE store SET barred_until = max(barred_until, ?)"
BAR = "INSERT OR REPLACE INTO bar VALUES (?, ?, ?)"

SHOW = f"SELECT {_HOLDER} FROM lock WHERE name = ? AND expires_at > ?"
SHOW_QUEUE = "SELECT who, purpose, since FROM ticket WHERE name = ? AND expires_at > ? ORDER BY place"
LIST = """
SELECT name FROM lock WHERE name >= :prefix AND name < :prefix || char(0x10FFFF)
    AND (expires_at > :now OR EXISTS (SELECT 1 FROM ticket WHERE ticket.name = lock.name AND ticket.expires_at > :now))
ORDER BY name LIMIT :limit
"""


_Ticket: TypeAlias = tuple[int, str, float, str, str, str, int]
"""As the columns that a grant is made of."""


@dataclass(slots=True)
class _Lock:
    """A lock's row, as a turn finds it and leaves it."""

    name: str
    waiters: int
    soonest: float
    shortest: float
    holder: Holder | None
    head: _Ticket | None = None
    is_changed: bool = False

    def hold(self, holder: Holder | None) -> None:
        self.holder, self.is_changed = holder, True

    def count(self, waiters: int, soonest: float, shortest: float) -> None:
        self.waiters, self.soonest, self.shortest, self.is_changed = waiters, soonest, shortest, True

    def count_out(self) -> None:
        """One less waits; it may have been the first."""
        self.waiters, self.head, self.is_changed = self.waiters - 1, None, True
        if not self.waiters:
            self.soonest = self.shortest = inf


class SqliteTurn:
    """One command, carried out within a transaction that is open already."""

    def __init__(
        self, db: sqlite3.Connection, now: float, wall: float, boot: str, listens: Callable[[str], bool]
    ) -> None:
        self._db, self._now, self._wall, self._boot, self._listens = db, now, wall, boot, listens
        self._last_fence, self._barred_until = 0, 0.0
        self._has_joined: bool | None = None
        self.pushes: list[Push] = []

    def execute(self, words: Sequence[Any]) -> Any:
        """Do it; what is to be told to others is in `pushes` then."""
        match words:
            case ("ask", name, ask):
                return self.turn(name, ask)
            case ("keep", asks):
                return [self.turn(name, ask) for name, ask in asks]
            case ("inspect", name):
                return self._view(name)
            case ("held", prefix, limit):
                found = self._db.execute(LIST, {"prefix": prefix, "now": self._now, "limit": limit}).fetchall()
                return [self._view(name) for (name,) in found]
            case _:
                return self._now

    def turn(self, name: str, ask: Ask) -> Answer:
        """Do one cell of the table, then serve the queue."""
        lock = self._look(name)
        last_fence = self._last_fence
        answer = _CELLS[type(ask)](self, lock, ask)
        if lock.holder is None and lock.waiters:
            self._serve(lock, asker=getattr(ask, "owner", "") if answer is None else "")
        if answer is None:
            answer = self._found(lock, ask)
        if lock.is_changed:
            self._keep(lock)
        if self._last_fence != last_fence:
            self._db.execute(RAISE_FENCE, (self._last_fence,))
        return answer

    def _look(self, name: str) -> _Lock:
        """The lock without what has expired."""
        row = self._db.execute(LOOK, (name,)).fetchone()
        if row[0] != FORMAT or row[1] != self._boot:
            check(row[0], row[1], self._boot)
        self._last_fence, self._barred_until = row[2:4]
        if row[4] is None:
            return _Lock(name, 0, inf, inf, None)
        waiters, soonest, shortest = row[4:7]
        holder = None if row[7] is None else Holder._make(row[7:15])
        lock = _Lock(name, waiters, soonest, shortest, holder, None if row[15] is None else row[15:])
        if holder is not None and holder.expires_at <= self._now:
            lock.hold(None)
        if lock.waiters and lock.soonest <= self._now:
            self._db.execute(DROP_EXPIRED, (name, self._now))
            waiters, soonest, shortest = self._db.execute(COUNT_QUEUE, (name,)).fetchone()
            lock.count(waiters, soonest or inf, shortest or inf)
            lock.head = None
        return lock

    # The cells of the table. Each gives an answer only where serving the queue cannot change it.

    def acquire(self, lock: _Lock, ask: Acquire) -> Answer | None:
        """Take the lock or a place in the queue."""
        if self._now > ask.not_after or self._is_barred(lock, ask.owner):
            return Said.REFUSED
        if lock.holder is None and not lock.waiters:
            self._grant(lock, ask.owner, ask.ttl, ask.channel, ask.who, ask.purpose, seen=ask.seen)
        elif lock.holder is not None and lock.holder.owner == ask.owner:
            lock.hold(lock.holder.until(self._now + ask.ttl))
        elif lock.holder is None or ask.queue:
            self._join(lock, ask)
        return None

    def keep_alive(self, lock: _Lock, ask: KeepAlive) -> Answer | None:
        """Keep a place, or a lock that was handed over unheard."""
        if lock.holder is not None and lock.holder.owner == ask.owner:
            lock.hold(lock.holder.until(self._now + ask.ttl))
            return None
        return None if self._refresh(lock, ask) else Said.GONE

    def renew(self, lock: _Lock, ask: Renew) -> Answer:
        """Keep a lease."""
        if lock.holder is None or lock.holder.owner != ask.owner or lock.holder.fence != ask.fence:
            return Said.GONE
        lock.hold(lock.holder.until(self._now + ask.ttl))
        return Said.KEPT

    def leave(self, lock: _Lock, ask: Leave) -> Answer:
        """Give up a ticket or a lease."""
        if ask.bar_until is not None and ask.bar_until >= self._now:
            self._db.execute(BAR, (lock.name, ask.owner, ask.bar_until))
            self._db.execute(BARS_UNTIL, (ask.bar_until,))
        if lock.holder is not None and lock.holder.owner == ask.owner:
            lock.hold(None)
            return Said.RELEASED
        return Said.LEFT if self._forget(lock, ask.owner) else Said.GONE

    def evict(self, lock: _Lock, ask: Evict) -> Answer:
        """Take the lock from its holder."""
        if lock.holder is None:
            return Said.GONE
        if lock.holder.fence != ask.fence:
            return Said.CHANGED
        self.pushes.append(Push(lock.holder.channel, lock.holder.owner, lock.holder.fence, "evicted"))
        self._last_fence += 1
        lock.hold(None)
        return Said.EVICTED

    # What the cells are made of.

    def _serve(self, lock: _Lock, asker: str) -> None:
        """Give the free lock to the first live ticket; tell its process, unless it is the one who asks."""
        ticket = self._first_live(lock, asker)
        if ticket is None:
            return
        place, owner, ttl, channel, who, purpose, seen = ticket
        self._db.execute(SERVE, (lock.name, place))
        lock.count_out()
        fence = self._grant(lock, owner, ttl, channel, who, purpose, seen=seen)
        if owner != asker:
            self.pushes.append(Push(channel, owner, fence, "handed"))

    def _first_live(self, lock: _Lock, asker: str) -> _Ticket | None:
        if lock.head is not None and (lock.head[1] == asker or self._listens(lock.head[3])):
            return lock.head
        deaf: set[str] = set()  # many tickets may be of one process that died
        for ticket in self._db.execute(IN_ORDER, (lock.name,)):
            owner, channel = ticket[1], ticket[3]
            if owner == asker or (channel not in deaf and self._listens(channel)):
                return cast("_Ticket", ticket)
            deaf.add(channel)
        return None

    def _grant(self, lock: _Lock, owner: str, ttl: float, channel: str, who: str, purpose: str, *, seen: int) -> int:
        fence = self._last_fence = next_fence(last=self._last_fence, now=self._wall, seen=seen)
        lock.hold(Holder(owner, fence, ttl, self._wall, self._now + ttl, channel, who, purpose))
        return fence

    def _found(self, lock: _Lock, ask: Ask) -> Answer:
        """The answer to one who wants the lock: read off where the turn has left it."""
        holder, owner = lock.holder, getattr(ask, "owner", "")
        if holder is None:
            return Said.REFUSED
        if holder.owner == owner:
            return Granted(holder.fence)
        again = min(holder.expires_at - self._now, lock.shortest)
        if isinstance(ask, KeepAlive):
            return StillQueued(again)
        if self._has_joined is None or not cast("Acquire", ask).queue:
            self._forget(lock, owner)
            return Busy(held(holder, self._now), lock.waiters)
        if self._has_joined:
            position = lock.waiters - 1  # it came last
        else:
            [position] = self._db.execute(AHEAD, {"name": lock.name, "owner": owner}).fetchone()
        return Queued(position, again, held(holder, self._now))

    def _join(self, lock: _Lock, ask: Acquire) -> None:
        """Stand in the queue: as before if it did already, else at its end, unless that is too far away."""
        self._has_joined = None
        if self._refresh(lock, ask):
            self._has_joined = False
        elif lock.waiters < MOST_WAITERS:
            self._has_joined = True
            until = self._now + ask.ttl
            ticket = (ask.owner, ask.ttl, until, ask.channel, ask.who, ask.purpose, ask.seen, self._wall)
            self._db.execute(JOIN, (lock.name, lock.name, *ticket))
            lock.count(lock.waiters + 1, min(lock.soonest, until), min(lock.shortest, ask.ttl))

    def _refresh(self, lock: _Lock, ask: Acquire | KeepAlive) -> bool:
        """Keep a ticket for another TTL; false if there is none."""
        until = self._now + ask.ttl
        is_there = lock.waiters > 0 and self._db.execute(REFRESH, (until, lock.name, ask.owner)).rowcount > 0
        if is_there and until < lock.soonest:
            lock.count(lock.waiters, until, lock.shortest)
        return is_there

    def _forget(self, lock: _Lock, owner: str) -> bool:
        """Drop a ticket; false if there is none."""
        is_there = lock.waiters > 0 and self._db.execute(FORGET, (lock.name, owner)).rowcount > 0
        if is_there:
            lock.count_out()
        return is_there

    def _is_barred(self, lock: _Lock, owner: str) -> bool:
        if self._barred_until < self._now:  # by far the most common: nobody is
            return False
        return self._db.execute(BARRED, (lock.name, owner, self._now)).fetchone() is not None

    def _keep(self, lock: _Lock) -> None:
        """Write the row back as the turn leaves it."""
        if lock.holder is None and not lock.waiters:
            self._db.execute(DROP_LOCK, (lock.name,))
            return
        row = (lock.name, lock.waiters, lock.soonest, lock.shortest, *(lock.holder or NOBODY))
        self._db.execute(KEEP_LOCK, row)

    def _view(self, name: str) -> LockView:
        at = (name, self._now)
        holder = self._db.execute(SHOW, at).fetchone()
        waiters = tuple(Waiter(*row) for row in self._db.execute(SHOW_QUEUE, at))
        return LockView(name, self._wall, held(Holder._make(holder), self._now) if holder else None, waiters)


_CELLS: Mapping[type[Ask], Callable[[SqliteTurn, _Lock, Any], Answer | None]] = {
    Acquire: SqliteTurn.acquire,
    KeepAlive: SqliteTurn.keep_alive,
    Renew: SqliteTurn.renew,
    Leave: SqliteTurn.leave,
    Evict: SqliteTurn.evict,
}
