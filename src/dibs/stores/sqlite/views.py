"""What people see of the locks in the file when they look."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dibs.model.lock import Holder, held
from dibs.model.views import LockView, Waiter
from dibs.stores.sqlite.holders import HOLDER

SHOW = f"""
SELECT {HOLDER} FROM lock WHERE name = :name AND expires_at > :now
UNION ALL SELECT {HOLDER} FROM holder WHERE name = :name AND expires_at > :now ORDER BY fence
"""  # noqa: S608 - joined from constants
SHOW_QUEUE = "SELECT who, purpose, since FROM ticket WHERE name = ? AND expires_at > ? ORDER BY place"
LIST = """
SELECT name FROM lock WHERE name >= :prefix AND name < :prefix || char(0x10FFFF)
    AND (expires_at > :now
        OR EXISTS (SELECT 1 FROM holder WHERE holder.name = lock.name AND holder.expires_at > :now)
        OR EXISTS (SELECT 1 FROM ticket WHERE ticket.name = lock.name AND ticket.expires_at > :now))
ORDER BY name LIMIT :limit
"""


def view(db: sqlite3.Connection, name: str, *, now: float, wall: float) -> LockView:
    """The lock as it stands now."""
    holders = tuple(held(Holder._make(row), now) for row in db.execute(SHOW, {"name": name, "now": now}))
    waiters = tuple(Waiter(*row) for row in db.execute(SHOW_QUEUE, (name, now)))
    return LockView(name, wall, holders, waiters)


def views(db: sqlite3.Connection, prefix: str, limit: int, *, now: float, wall: float) -> Sequence[LockView]:
    """The locks that are held or waited for, by name."""
    found = db.execute(LIST, {"prefix": prefix, "now": now, "limit": limit}).fetchall()
    return [view(db, name, now=now, wall=wall) for (name,) in found]
