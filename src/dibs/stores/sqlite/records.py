"""What the file remembers beside locks: what was noted of work that was done, and what was counted.

Both are the time of day's: no boot of the machine ends them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dibs.model.asks import Memo, Recalled
from dibs.model.counts import MOST_NAMES, OTHERS, Count

REMEMBER = "INSERT OR REPLACE INTO memo VALUES (?, ?, ?, ?)"
RECALL = "SELECT text, made_at FROM memo WHERE name = ? AND until > ?"
FORGET = "DELETE FROM memo WHERE name IN (SELECT name FROM memo WHERE until <= ? LIMIT ?)"
MOST_FORGOTTEN = 1_000
"""A day's memos all end at midnight: others need not wait until the last of them is gone."""

NAMES = "SELECT DISTINCT name FROM counted WHERE space = ?"
ADD = """
INSERT INTO counted VALUES (?, ?, ?, ?)
ON CONFLICT (space, name, what) DO UPDATE SET times = times + excluded.times
"""
COUNTED = "SELECT name, what, times FROM counted WHERE space = ? ORDER BY name, what"


def remember(db: sqlite3.Connection, name: str, memo: Memo, *, wall: float) -> None:
    """Note it, in place of what was noted before."""
    db.execute(REMEMBER, (name, memo.text, wall, memo.until))


def recalled(db: sqlite3.Connection, name: str, *, wall: float) -> Recalled:
    """What was last noted, while that is to be remembered."""
    found = db.execute(RECALL, (name, wall)).fetchone()
    return Recalled(wall) if found is None else Recalled(wall, *found)


def forget(db: sqlite3.Connection, *, wall: float) -> None:
    """Drop what need not be remembered any more, or as much of it as takes but a moment."""
    db.execute(FORGET, (wall, MOST_FORGOTTEN))


def count(db: sqlite3.Connection, space: str, counts: Sequence[Count]) -> None:
    """Add these; names beyond those that are counted apart go together."""
    names = {name for (name,) in db.execute(NAMES, (space,))}
    for count in counts:
        name = count.name if count.name in names or len(names) < MOST_NAMES else OTHERS
        names.add(name)
        db.execute(ADD, (space, name, count.what, count.by))


def counted(db: sqlite3.Connection, space: str) -> Sequence[Count]:
    """All that was counted, by name."""
    return [Count(*row) for row in db.execute(COUNTED, (space,))]
