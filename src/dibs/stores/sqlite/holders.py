"""Who has one lock, as a turn finds and leaves it: the first in the lock's own row, others in rows of their own.

Of a mutex there is no other, so its turns never look at those. The row says how many they are; what else it says of
them are bounds, which cost nothing to keep and are made exact where that decides something.
"""

from __future__ import annotations

import sqlite3
from math import inf

from dibs.model.asks import CROWD
from dibs.model.lock import Holder

HOLDER = ", ".join(Holder._fields)

BOUNDS = "SELECT ends, tightest FROM lock WHERE name = ?"
_OTHERS = f"SELECT {HOLDER} FROM holder WHERE name = ?"  # noqa: S608 - joined from constants
NEXT = f"{_OTHERS} ORDER BY fence LIMIT 1"
BY_OWNER = f"{_OTHERS} AND owner = ?"
BY_FENCE = f"{_OTHERS} AND fence = ?"
ENTER = "INSERT INTO holder VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
PROLONG = "UPDATE holder SET expires_at = ?, depth = ? WHERE name = ? AND fence = ?"
VACATE = "DELETE FROM holder WHERE name = ? AND fence = ?"
DROP_ENDED = "DELETE FROM holder WHERE name = ? AND expires_at <= ?"
COUNT_OTHERS = "SELECT count(*), min(expires_at), min(room) FROM holder WHERE name = ?"
SOONEST_END = "SELECT min(expires_at) FROM holder WHERE name = ?"
TIGHTEST = "SELECT min(room) FROM holder WHERE name = ?"


class Holders:
    """Who holds one lock together, in the order they came. Nobody stands beside a first one who is not there."""

    __slots__ = ("_db", "_ends", "_is_changed", "_others", "_tightest", "holder", "name")

    def __init__(self, db: sqlite3.Connection, name: str, holder: Holder | None) -> None:
        """By its first holder, as if there were no other."""
        self._db, self.name, self.holder, self._is_changed = db, name, holder, False
        self._others, self._ends, self._tightest = 0, 0.0, 1

    def _expect(self, others: int) -> None:
        """So many others hold it, too."""
        self._others = others
        self._ends, self._tightest = self._db.execute(BOUNDS, (self.name,)).fetchone()

    def drop_ended(self, now: float) -> None:
        """Whoever's lease has run out does not hold it any more."""
        if self._others and self._ends <= now:
            self._db.execute(DROP_ENDED, (self.name, now))
            others, ends, tightest = self._db.execute(COUNT_OTHERS, (self.name,)).fetchone()
            self._count_others(others, ends or inf, tightest or CROWD)
        if self.holder is not None and self.holder.expires_at <= now:
            self.vacate(self.holder)

    def held_by(self, owner: str) -> Holder | None:
        """The owner's hold on it."""
        first = self.holder
        if first is None or first.owner == owner:
            return first
        return self._other(BY_OWNER, owner) if self._others else None

    def held_with(self, fence: int) -> Holder | None:
        """Whoever has it by that fence."""
        first = self.holder
        if first is None or first.fence == fence:
            return first
        return self._other(BY_FENCE, fence) if self._others else None

    @property
    def is_full(self) -> bool:
        """Whether surely nobody may enter; the first holder knows of itself only."""
        return self.holder is not None and self._others + 1 >= self.holder.room

    def has_room(self, room: int) -> bool:
        """Whether one may enter who allows so many."""
        if self.holder is None:
            return True
        holders = self._others + 1
        if holders >= room or holders >= self.holder.room:
            return False
        if self._others and holders >= self._tightest:  # it may have left since
            [tightest] = self._db.execute(TIGHTEST, (self.name,)).fetchone()
            self._count_others(self._others, self._ends, tightest)
        return not self._others or holders < self._tightest

    def soonest_end(self, first: Holder) -> float:
        """When the first of their leases runs out, if none is renewed."""
        if not self._others:
            return first.expires_at
        soonest: float = self._db.execute(SOONEST_END, (self.name,)).fetchone()[0]
        return min(first.expires_at, soonest)

    def enter(self, holder: Holder) -> None:
        """One more holds it, as the last of them."""
        if self.holder is None:
            self.holder, self._is_changed = holder, True
            return
        self._db.execute(ENTER, (self.name, *holder))
        ends, tightest = (self._ends, self._tightest) if self._others else (inf, CROWD)
        self._count_others(self._others + 1, min(ends, holder.expires_at), min(tightest, holder.room))

    def prolong(self, changed: Holder) -> None:
        """Whoever holds it by that fence goes on, for as long and as deep as it says now."""
        if self.holder is not None and self.holder.fence == changed.fence:
            self.holder, self._is_changed = changed, True
            return
        self._db.execute(PROLONG, (changed.expires_at, changed.depth, self.name, changed.fence))
        if changed.expires_at < self._ends:
            self._count_others(self._others, changed.expires_at, self._tightest)

    def vacate(self, holder: Holder) -> None:
        """It does not hold the lock any more; if it was the first, the next one is."""
        self._is_changed = True
        if not self._others:
            self.holder = None
            return
        if holder is self.holder:
            holder = self.holder = Holder._make(self._db.execute(NEXT, (self.name,)).fetchone())
        self._db.execute(VACATE, (self.name, holder.fence))
        self._others -= 1

    def _other(self, query: str, key: object) -> Holder | None:
        found = self._db.execute(query, (self.name, key)).fetchone()
        return None if found is None else Holder._make(found)

    def _count_others(self, others: int, ends: float, tightest: int) -> None:
        self._others, self._ends, self._tightest, self._is_changed = others, ends, tightest, True
