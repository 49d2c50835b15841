"""What the steps act on: a database in which each step has its effect once, and a late attempt has none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import dibs
from dibs import fenced

Visit = Literal["done", "again", "late"]
"""A step has had its effect; it has had it before; or a newer attempt has been here, and this one is refused."""

TABLES = """
CREATE TABLE IF NOT EXISTS effect (step TEXT PRIMARY KEY, job TEXT, attempt INTEGER, fence INTEGER);
CREATE TABLE IF NOT EXISTS total (job TEXT PRIMARY KEY, effects INTEGER);
CREATE TABLE IF NOT EXISTS visit (step TEXT, attempt INTEGER, fence INTEGER, what TEXT);
"""
EFFECT = "INSERT INTO effect (step, job, attempt, fence) VALUES (?, ?, ?, ?) ON CONFLICT (step) DO NOTHING"
COUNT = "INSERT INTO total (job, effects) VALUES (?, 1) ON CONFLICT (job) DO UPDATE SET effects = effects + 1"
VISIT = "INSERT INTO visit (step, attempt, fence, what) VALUES (?, ?, ?, ?)"
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """Who acts: an attempt of a step, with its fence."""

    job: str
    order: str
    number: int
    fence: int

    @property
    def name(self) -> str:
        """The step's id at the ledger."""
        return f"{self.job}:{self.order}"


class Ledger:
    """A SQLite file here, and the database of your orders in earnest."""

    def __init__(self, file: str | Path) -> None:
        self._file = file

    def create(self) -> None:
        """Make its tables, if there are none."""
        with closing(self._connected()) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(TABLES)
            fenced.sql.create(database)
            database.commit()

    def act(self, attempt: Attempt) -> Visit:
        """Let the step have its effect, if it has not had it; `StaleFence` if a newer attempt of it has been here."""
        with closing(self._connected()) as database:
            try:
                return _acted(database, attempt)
            except dibs.StaleFence:
                _visited(database, attempt, "late")
                database.commit()
                raise

    def totals(self) -> dict[str, int]:
        """How many effects each job has had."""
        with closing(self._connected()) as database:
            return dict(database.execute("SELECT job, effects FROM total ORDER BY rowid"))

    def visits(self) -> dict[str, int]:
        """How often steps came: for the first time, again, or too late."""
        with closing(self._connected()) as database:
            return dict(database.execute("SELECT what, count(*) FROM visit GROUP BY what"))

    def _connected(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=PATIENCE)
        database.execute("PRAGMA synchronous=NORMAL")
        return database


def _acted(database: sqlite3.Connection, attempt: Attempt) -> Visit:
    """All in one transaction: the guard, the effect, and what is counted."""
    with fenced.sql(database, attempt) as cursor:
        cursor.execute(EFFECT, (attempt.name, attempt.job, attempt.number, attempt.fence))
        what: Visit = "done" if cursor.rowcount else "again"
        if what == "done":
            cursor.execute(COUNT, (attempt.job,))
        _visited(database, attempt, what)
    return what


def _visited(database: sqlite3.Connection, attempt: Attempt, what: Visit) -> None:
    database.execute(VISIT, (attempt.name, attempt.number, attempt.fence, what))
