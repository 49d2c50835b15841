"""What was noted of jobs, and of whatever else has a history: each entry once, found by its name and by its tags.

They are the time of day's, too. Whatever is asked of them is found by an index, and in its order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import cast

from dibs.model.sheet import MOST_FORGOTTEN, Change, Entry, Line, Question

LINES = """
SELECT name, found.at, text FROM found JOIN entry ON entry.id = found.entry JOIN history ON history.id = entry.history
WHERE found.space = ? AND word = ? AND found.at BETWEEN ? AND ?
ORDER BY found.at DESC, found.entry DESC LIMIT ? OFFSET ?
"""
KNOWN = "SELECT id, noted FROM history WHERE space = ? AND name = ?"
BEGIN = "INSERT INTO history (space, name, noted, ends_at) VALUES (?, ?, 0, 0)"
PROLONG = "UPDATE history SET noted = ?, ends_at = ? WHERE id = ?"
LESSEN = "UPDATE history SET noted = ? WHERE id = ?"
END = "DELETE FROM history WHERE id = ?"
OVER = "SELECT id, noted, name FROM history WHERE space = ? AND ends_at <= ? ORDER BY ends_at, name LIMIT ?"

NOTE = "INSERT INTO entry (history, at, words, text) VALUES (?, ?, ?, ?)"
FIND_BY = "INSERT INTO found VALUES (?, ?, ?, ?)"
OLD = """
SELECT id, found.at, words FROM found JOIN entry ON entry.id = found.entry
WHERE space = ? AND word = ? AND found.at <= ? AND history = ? ORDER BY found.at, found.entry
"""
FIRST = """
SELECT id, found.at, words FROM found JOIN entry ON entry.id = found.entry
WHERE space = ? AND word = ? AND history = ? ORDER BY found.at, found.entry LIMIT ?
"""
FORGET = "DELETE FROM entry WHERE id = ?"
LOSE = "DELETE FROM found WHERE space = ? AND word = ? AND at = ? AND entry = ?"

Dropped = Sequence[tuple[int, float, str]]


def lines(db: sqlite3.Connection, space: str, question: Question) -> Sequence[Line]:
    """What was noted under a name or a tag, the latest first; of the same time, what was noted last."""
    wanted = (space, question.tag, question.since, question.until, question.limit, question.skip)
    return [Line(*row) for row in db.execute(LINES, wanted)]


class Histories:
    """All that are in one namespace, at one moment."""

    def __init__(self, db: sqlite3.Connection, space: str, wall: float) -> None:
        self._db, self._space, self._wall = db, space, wall

    def note(self, change: Change) -> None:
        """Add what there is to add. It is counted, so that dropping the first of it takes no look at the rest."""
        if not change.entries:
            return
        history, noted = self._known(change.name) or (self._begun(change.name), 0)
        for entry in change.entries:
            self._add(history, change.name, entry)
        old = (self._space, change.name, self._wall - change.keep_for, history)
        noted += len(change.entries) - self._forget(self._db.execute(OLD, old).fetchall())
        noted -= self._forget_first(history, change.name, noted - change.keep)
        self._db.execute(PROLONG, (noted, self._wall + change.keep_for, history))
        self._end_if_empty(history, noted)
        self._forget_over()

    def drop(self, name: str) -> None:
        """All of it."""
        if (known := self._known(name)) is not None:
            history, noted = known
            self._forget_first(history, name, noted)
            self._end_if_empty(history, 0)

    def _known(self, name: str) -> tuple[int, int] | None:
        return cast("tuple[int, int] | None", self._db.execute(KNOWN, (self._space, name)).fetchone())

    def _begun(self, name: str) -> int:
        return cast("int", self._db.execute(BEGIN, (self._space, name)).lastrowid)

    def _add(self, history: int, name: str, entry: Entry) -> None:
        words = dict.fromkeys((name, *entry.tags))
        made = self._db.execute(NOTE, (history, entry.at, "\n".join(words), entry.text)).lastrowid
        self._db.executemany(FIND_BY, [(self._space, word, entry.at, made) for word in words])

    def _forget_first(self, history: int, name: str, count: int) -> int:
        if count <= 0:
            return 0
        return self._forget(self._db.execute(FIRST, (self._space, name, history, count)).fetchall())

    def _forget(self, dropped: Dropped) -> int:
        for entry, at, words in dropped:
            self._db.execute(FORGET, (entry,))
            self._db.executemany(LOSE, [(self._space, word, at, entry) for word in words.split("\n")])
        return len(dropped)

    def _forget_over(self) -> None:
        """Of the histories that are over, those first that were over first."""
        most = MOST_FORGOTTEN
        for history, noted, name in self._db.execute(OVER, (self._space, self._wall, most)).fetchall():
            gone = self._forget_first(history, name, min(noted, most))
            most -= gone
            self._db.execute(LESSEN, (noted - gone, history))
            self._end_if_empty(history, noted - gone)

    def _end_if_empty(self, history: int, noted: int) -> None:
        if noted == 0:
            self._db.execute(END, (history,))
