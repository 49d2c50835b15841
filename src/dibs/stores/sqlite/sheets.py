"""The sheets of jobs in the file: changed only by somebody who has read them as they stand.

They are the time of day's: no boot of the machine ends them. What is due is found by an index, whatever else there is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import takewhile

from dibs.model.fence import next_fence
from dibs.model.sheet import Change, Look, Sheet
from dibs.stores.sqlite.histories import Histories

LIFE = "SELECT life FROM store"
DUE = """
SELECT name, revision, text FROM job WHERE space = ? AND acts_at <= ? ORDER BY acts_at, name LIMIT ? OFFSET ?
"""
NEXT = "SELECT acts_at FROM job WHERE space = ? AND acts_at > ? ORDER BY acts_at LIMIT 1"
READ = "SELECT name, revision, text FROM job WHERE space = ? AND name = ?"
FROM = "SELECT name, revision, text FROM job WHERE space = ? AND name >= ? ORDER BY name LIMIT ?"
AFTER = "SELECT name, revision, text FROM job WHERE space = ? AND name > ? ORDER BY name LIMIT ?"

FOUND = "SELECT id, revision FROM job WHERE space = ? AND name = ?"
IS_DUE = "SELECT 1 FROM job WHERE space = ? AND name = ? AND acts_at <= ?"
CREATE = "INSERT INTO job (space, name, revision, acts_at, text) VALUES (?, ?, ?, ?, ?)"
CHANGE = "UPDATE job SET revision = ?, acts_at = ?, text = ? WHERE id = ?"
THROW_AWAY = "DELETE FROM job WHERE id = ?"


def due(db: sqlite3.Connection, space: str, skip: int, limit: int, by: float | None = None, *, wall: float) -> Look:
    """The sheets whose time has come by then, and when the time of the next one comes."""
    by = wall if by is None else by
    sheets = [Sheet(*row) for row in db.execute(DUE, (space, by, limit, skip))]
    following = db.execute(NEXT, (space, by)).fetchone()
    return Look(wall, _life(db), sheets, None if following is None else following[0])


def read(db: sqlite3.Connection, space: str, names: Sequence[str], *, wall: float) -> Look:
    """The sheets of these names, as far as there are any."""
    found = (db.execute(READ, (space, name)).fetchone() for name in names)
    return Look(wall, _life(db), [Sheet(*row) for row in found if row is not None])


def named(db: sqlite3.Connection, space: str, prefix: str, after: str, limit: int, *, wall: float) -> Look:
    """The sheets whose names begin so and come after this one, by name: no more rows are read than are told."""
    rows = db.execute(*((AFTER, (space, after, limit)) if after >= prefix else (FROM, (space, prefix, limit))))
    found = takewhile(lambda sheet: sheet.name.startswith(prefix), (Sheet(*row) for row in rows))
    return Look(wall, _life(db), list(found))


def _life(db: sqlite3.Connection) -> str:
    """The file's own: what was changed in it is on the disk before anybody is told so."""
    [life] = db.execute(LIFE).fetchone()
    return str(life)


class Amendment:
    """The changes of one turn, and the counter that revisions come from."""

    def __init__(self, db: sqlite3.Connection, space: str, last_fence: int, *, wall: float) -> None:
        self._db, self._space, self._wall, self.last_fence = db, space, wall, last_fence
        self._histories = Histories(db, space, wall)

    def amend(self, change: Change) -> int:
        """The new revision; 0 if it is not made: only to what it was made from, in its time, and unless frozen."""
        job, revision = self._db.execute(FOUND, (self._space, change.name)).fetchone() or (None, 0)
        if revision != change.revision or not change.earliest <= self._wall <= change.not_after:
            return 0
        if change.unless_due and self._is_due(change.unless_due):
            return 0
        seen = max(change.seen, change.revision)
        self.last_fence = next_fence(last=self.last_fence, now=self._wall, seen=seen)
        if change.text is None:
            self._db.execute(THROW_AWAY, (job,))
            self._histories.drop(change.name)
            return self.last_fence
        self._keep(job, change, change.text)
        self._histories.note(change)
        return self.last_fence

    def _is_due(self, name: str) -> bool:
        return self._db.execute(IS_DUE, (self._space, name, self._wall)).fetchone() is not None

    def _keep(self, job: int | None, change: Change, text: str) -> None:
        if job is None:
            self._db.execute(CREATE, (self._space, change.name, self.last_fence, change.acts_at, text))
        else:
            self._db.execute(CHANGE, (self.last_fence, change.acts_at, text, job))
