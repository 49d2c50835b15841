"""All that the file has of one lock, as a turn finds it and leaves it: its holders, its queue and its bars."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from dibs.model.lock import Holder
from dibs.stores.sqlite.holders import HOLDER, Holders
from dibs.stores.sqlite.schema import FORMAT, LOCK

if TYPE_CHECKING:
    from dibs.model.asks import Acquire


def _of(table: str, columns: str) -> str:
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


NOBODY = (None,) * len(Holder._fields)

Ticket: TypeAlias = tuple[int, str, float, str, str, str, int, int, int]
"""As the columns that a grant is made of."""
_TICKET = "place, owner, ttl, channel, who, purpose, seen, room, depth"
MOST_SERVED = 64
"""So many that were served may be there still, at the most: no turn has much to throw away."""

# Each column that is read costs a turn as much as a call: what next to no turn needs is read apart.
LOOK = f"""
SELECT store.format = {FORMAT} AND store.boot = ?2, store.last_fence, store.barred_until,
    {_of("lock", f"waiters, soonest, shortest, {HOLDER}, others, served")}, {_of("head", _TICKET)}
FROM state AS store LEFT JOIN state AS lock ON lock.name = ?1
LEFT JOIN queue AS head ON head.name = ?1 AND head.place > lock.served
WHERE store.name = '' ORDER BY head.place LIMIT 1
"""  # noqa: S608 - joined from constants, as below
KEEP = f"""
INSERT OR REPLACE INTO state ({LOCK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608
DROP = "DELETE FROM state WHERE name = ?"
RAISE_FENCE = "UPDATE state SET last_fence = ? WHERE name = ''"

DROP_EXPIRED = "DELETE FROM queue WHERE name = ? AND expires_at <= ?"
COUNT_QUEUE = "SELECT count(*), min(expires_at), min(ttl) FROM queue WHERE name = ?"
JOIN = """
INSERT INTO queue VALUES (
    ?1, ifnull((SELECT max(place) FROM queue WHERE name = ?1), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
)
"""
REFRESH = "UPDATE queue SET expires_at = ? WHERE name = ? AND owner = ? AND place > ?"
FORGET = "DELETE FROM queue WHERE name = ? AND owner = ? AND place > ?"
THROW_AWAY = "DELETE FROM queue WHERE name = ? AND place <= ?"
SERVE = "DELETE FROM queue WHERE name = ? AND place = ?"
IN_ORDER = f"SELECT {_TICKET} FROM queue WHERE name = ? AND place > ? ORDER BY place"  # noqa: S608
AHEAD = """
SELECT (SELECT count(*) FROM queue AS other WHERE other.name = ?1 AND other.place > ?3 AND other.place < mine.place)
FROM queue AS mine WHERE name = ?1 AND owner = ?2 AND place > ?3
"""
BARRED = "SELECT 1 FROM bar WHERE name = ? AND owner = ? AND until >= ?"
BARS_UNTIL = "UPDATE state SET barred_until = max(barred_until, ?) WHERE name = ''"
BAR = "INSERT OR REPLACE INTO bar VALUES (?, ?, ?)"


class Row(Holders):
    """One lock, and the counter that its fences come from. Until it is kept, its own row is not written."""

    __slots__ = (
        "_barred_until",
        "_counter",
        "_head",
        "_newest",
        "_served",
        "last_fence",
        "shortest",
        "soonest",
        "waiters",
    )

    def __init__(self, db: sqlite3.Connection, name: str, found: tuple[Any, ...]) -> None:
        """By the columns that `LOOK` has found."""
        super().__init__(db, name, None if found[6] is None else Holder._make(found[6:16]))
        if found[16]:
            self._expect(found[16])
        self._newest = ""
        self.last_fence, self._barred_until = found[1:3]
        self._counter: int = self.last_fence
        self.waiters: int = found[3] or 0
        self.soonest: float = found[4] or inf
        self.shortest: float = found[5] or inf
        self._served: int = found[17] or 0
        self._head: Ticket | None = None if found[18] is None else found[18:]

    def drop_expired(self, now: float) -> None:
        """What has run out is as good as not there."""
        self.drop_ended(now)
        if self.waiters and self.soonest <= now:
            self._throw_away_served()
            self._db.execute(DROP_EXPIRED, (self.name, now))
            waiters, soonest, shortest = self._db.execute(COUNT_QUEUE, (self.name,)).fetchone()
            self._count(waiters, soonest or inf, shortest or inf)
            self._head = None

    def keep(self) -> None:
        """Write it back as the turn leaves it."""
        if self._is_changed and self.holder is None and not self.waiters:
            self._throw_away_served()
            self._db.execute(DROP, (self.name,))
        elif self._is_changed:
            queue, others = (self.waiters, self.soonest, self.shortest), (self._others, self._ends, self._tightest)
            self._db.execute(KEEP, (self.name, *queue, *(self.holder or NOBODY), *others, self._served))
        if self.last_fence != self._counter:
            self._db.execute(RAISE_FENCE, (self.last_fence,))

    # The queue.

    def tickets(self) -> Iterator[Ticket]:
        """All of them, first come first. One that was met may be served before the next is looked for."""
        place = self._served
        if self._head is not None:
            place = self._head[0]
            yield self._head
        yield from self._db.execute(IN_ORDER, (self.name, place))

    def join(self, ask: Acquire, until: float, since: float) -> None:
        """Add a ticket at the end."""
        self._throw_away_served()
        told = (ask.channel, ask.who, ask.purpose)
        ticket = (ask.owner, ask.ttl, until, *told, ask.seen, since, ask.room, ask.depth)
        self._db.execute(JOIN, (self.name, *ticket))
        self._newest = ask.owner
        self._count(self.waiters + 1, min(self.soonest, until), min(self.shortest, ask.ttl))

    def refresh(self, owner: str, until: float) -> bool:
        """Keep a ticket for longer; false if there is none."""
        is_there = self.waiters > 0 and self._db.execute(REFRESH, (until, self.name, owner, self._served)).rowcount > 0
        if is_there and until < self.soonest:
            self._count(self.waiters, until, self.shortest)
        return is_there

    def forget(self, owner: str) -> bool:
        """Drop a ticket; false if there is none."""
        is_there = self.waiters > 0 and self._db.execute(FORGET, (self.name, owner, self._served)).rowcount > 0
        if is_there:
            self._throw_away_served()
            self._count_out()
        return is_there

    def serve(self, place: int) -> None:
        """Take the ticket at that place out of the queue, as it gets the lock.

        If it is the first, that is only noted: whoever writes on its page anyway throws it away.
        """
        is_first = self._head is not None and self._head[0] == place
        if is_first:
            self._served = place
        else:
            self._db.execute(SERVE, (self.name, place))
        if not is_first or place % MOST_SERVED == 0:
            self._throw_away_served()
        self._count_out()

    def position(self, owner: str) -> int | None:
        """How many stand ahead of it; `None` if it does not stand in the queue at all."""
        if owner == self._newest:
            return self.waiters - 1
        found = self._db.execute(AHEAD, (self.name, owner, self._served)).fetchone()
        return None if found is None else found[0]

    def _throw_away_served(self) -> None:
        if self._served:
            self._db.execute(THROW_AWAY, (self.name, self._served))
            self._served = 0

    def _count(self, waiters: int, soonest: float, shortest: float) -> None:
        self.waiters, self.soonest, self.shortest, self._is_changed = waiters, soonest, shortest, True

    def _count_out(self) -> None:
        """One less waits; it may have been the first."""
        self.waiters, self._head, self._is_changed = self.waiters - 1, None, True
        if not self.waiters:
            self.soonest = self.shortest = inf

    # Bars.

    def bar(self, owner: str, until: float) -> None:
        """Refuse what that owner asks until then."""
        self._db.execute(BAR, (self.name, owner, until))
        self._db.execute(BARS_UNTIL, (until,))

    def is_barred(self, owner: str, now: float) -> bool:
        """Whether that owner is to be refused."""
        if self._barred_until < now:  # by far the most common: nobody is
            return False
        return self._db.execute(BARRED, (self.name, owner, now)).fetchone() is not None
