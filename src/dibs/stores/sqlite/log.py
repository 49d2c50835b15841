"""The log that is written ahead: how long it may get, and who waits while it is brought home."""

from __future__ import annotations

import sqlite3

from dibs.stores.sqlite.schema import PAGE_SIZE

LONG_LOG, LONGEST_LOG = 1_000_000, 8_000_000
"""Below so many bytes it is not worth it, and from so many on others are kept waiting for it."""
LONGEST_WAIT = 0.05
"""How long to wait until others have written, and then until they have read."""


def bound(db: sqlite3.Connection) -> None:
    """Leave it to `bring_home`: as part of a commit it would keep everybody waiting for the disk."""
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute(f"PRAGMA journal_size_limit = {2 * LONGEST_LOG}")


def bring_home(db: sqlite3.Connection, size: int) -> None:
    """The log is written from its beginning again after a moment in which all of it is home and nobody writes.

    Many who write without a pause leave no such moment: when it has grown very long, they are kept waiting for the
    rest of it. (Not if most of it cannot be brought home, as somebody still reads what was before.) Its file is cut
    off only where that was not enough: disks are slow to give room and to take it back, and all would wait for it.
    """
    if size <= LONG_LOG:
        return
    _, pages, at_home = db.execute("PRAGMA wal_checkpoint").fetchone()
    if pages * PAGE_SIZE > LONGEST_LOG and (pages - at_home) * PAGE_SIZE < LONG_LOG:
        try:
            db.execute(f"PRAGMA busy_timeout = {LONGEST_WAIT * 1000:.0f}")
            db.execute("PRAGMA wal_checkpoint(RESTART)")
        finally:
            db.execute("PRAGMA busy_timeout = 0")
