"""What SQLite's errors mean for whoever meets them, and what can be done."""

from __future__ import annotations

import sqlite3

MOVE_AWAY = "stop all that use it, and move it away: a new one is made"

_MEANINGS = {
    "SQLITE_FULL": ("the disk is full", "free some space there"),
    "SQLITE_READONLY": ("it cannot be written", "make the file and its folder writable for this user"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "check that its folder is there and writable for this user"),
    "SQLITE_NOTADB": ("it is damaged, or not a database", MOVE_AWAY),
    "SQLITE_CORRUPT": ("it is damaged", MOVE_AWAY),
    "SQLITE_IOERR_SHORT_READ": ("the file was deleted without its -wal and -shm", "ask again when its users noticed"),
    "SQLITE_IOERR": ("its disk fails", "check the disk"),
}


def code(error: sqlite3.Error) -> str:
    """SQLite's own name for it."""
    return getattr(error, "sqlite_errorname", "")


def meaning(error: sqlite3.Error) -> tuple[str, str]:
    """Why it happened, and the way out."""
    known = (told for start, told in _MEANINGS.items() if code(error).startswith(start))
    return next(known, (str(error), "check its disk"))
