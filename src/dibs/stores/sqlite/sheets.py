"""The sheets of jobs in the file, and what was noted of each: changed only by somebody who has read them as they stand.

They are the time of day's: no boot of the machine ends them. What is due is found by an index, whatever else there is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import cast

from dibs.model.fence import next_fence
from dibs.model.sheet import Change, Look, Sheet

LIFE = "SELECT life FROM store"
DUE = """
SELECT name, revision, text FROM job WHERE space = ? AND acts_at <= ? ORDER BY acts_at, name LIMIT ? OFFSET ?
"""
NEXT = "SELECT acts_at FROM job WHERE space = ? AND acts_at > ? ORDER BY acts_at LIMIT 1"
READ = "SELECT name, revision, text FROM job WHERE space = ? AND name = ?"
HISTORY = """
SELECT entry.text FROM job JOIN entry ON entry.job = job.id WHERE space = ? AND name = ?
ORDER BY at DESC, entry.id DESC LIMIT ?
"""

FOUND = "SELECT id, revision, noted FROM job WHERE space = ? AND name = ?"
CREATE = "INSERT INTO job (space, name, revision, acts_at, noted, text) VALUES (?, ?, ?, ?, 0, ?)"
CHANGE = "UPDATE job SET revision = ?, acts_at = ?, text = ? WHERE id = ?"
THROW_AWAY = "DELETE FROM job WHERE id = ?"
FORGET_ALL = "DELETE FROM entry WHERE job = ?"
NOTE = "INSERT INTO entry (job, at, text) VALUES (?, ?, ?)"
FORGET_OLD = "DELETE FROM entry WHERE job = ? AND at <= ?"
FORGET_FIRST = "DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE job = ? ORDER BY at, id LIMIT ?)"
NOTED = "UPDATE job SET noted = ? WHERE id = ?"


def due(db: sqlite3.Connection, space: str, skip: int, limit: int, *, wall: float) -> Look:
    """The sheets whose time has come, and when the time of the next one comes."""
    sheets = [Sheet(*row) for row in db.execute(DUE, (space, wall, limit, skip))]
    following = db.execute(NEXT, (space, wall)).fetchone()
    return Look(wall, _life(db), sheets, None if following is None else following[0])


def read(db: sqlite3.Connection, space: str, names: Sequence[str], *, wall: float) -> Look:
    """The sheets of these names, as far as there are any."""
    found = (db.execute(READ, (space, name)).fetchone() for name in names)
    return Look(wall, _life(db), [Sheet(*row) for row in found if row is not None])


def history(db: sqlite3.Connection, space: str, name: str, limit: int) -> Sequence[str]:
    """What was noted, the latest first; of the same time, what was noted last."""
    return [text for (text,) in db.execute(HISTORY, (space, name, limit))]


def _life(db: sqlite3.Connection) -> str:
    """The file's own: what was changed in it is on the disk before anybody is told so."""
    [life] = db.execute(LIFE).fetchone()
    return str(life)


class Amendment:
    """The changes of one turn, and the counter that revisions come from."""

    def __init__(self, db: sqlite3.Connection, space: str, last_fence: int, *, wall: float) -> None:
        self._db, self._space, self._wall, self.last_fence = db, space, wall, last_fence

    def amend(self, change: Change) -> int:
        """The new revision; 0 if it is not made: only to what it was made from, and only in its time."""
        found = self._db.execute(FOUND, (self._space, change.name)).fetchone()
        job, revision, noted = found or (None, 0, 0)
        if revision != change.revision or not change.earliest <= self._wall <= change.not_after:
            return 0
        seen = max(change.seen, change.revision)
        self.last_fence = next_fence(last=self.last_fence, now=self._wall, seen=seen)
        if change.text is None:
            self._throw_away(job)
            return self.last_fence
        job = self._keep(job, change, change.text)
        if change.entries:
            self._note(job, noted, change)
        return self.last_fence

    def _throw_away(self, job: int | None) -> None:
        self._db.execute(FORGET_ALL, (job,))
        self._db.execute(THROW_AWAY, (job,))

    def _keep(self, job: int | None, change: Change, text: str) -> int:
        if job is not None:
            self._db.execute(CHANGE, (self.last_fence, change.acts_at, text, job))
            return job
        made = self._db.execute(CREATE, (self._space, change.name, self.last_fence, change.acts_at, text))
        return cast("int", made.lastrowid)

    def _note(self, job: int, noted: int, change: Change) -> None:
        """Add to the history. It is counted, so that dropping the first of it takes no look at the rest."""
        self._db.executemany(NOTE, [(job, entry.at, entry.text) for entry in change.entries])
        noted += len(change.entries) - self._db.execute(FORGET_OLD, (job, self._wall - change.keep_for)).rowcount
        if noted > change.keep:
            noted -= self._db.execute(FORGET_FIRST, (job, noted - change.keep)).rowcount
        self._db.execute(NOTED, (noted, job))
