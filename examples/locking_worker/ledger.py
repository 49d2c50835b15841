"""What was really done, in a table of its own that knows nothing of rounds and locks but their fences."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias

from dibs import Lease, StaleFence, fenced

Outcome: TypeAlias = Literal["failed", "done"]
What: TypeAlias = Literal["begun"] | Outcome

LONG = 30.0
"""So many seconds may others write before us."""

TABLE = "CREATE TABLE IF NOT EXISTS entries (what TEXT, round INTEGER, attempt INTEGER, worker INTEGER, fence INTEGER)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of it."""

    what: What
    round: int
    attempt: int
    worker: int


class Ledger:
    """A file that all workers write to. One whose lease was lost writes nothing, as soon as its successor has."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, timeout=LONG)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=OFF")  # processes die here, not the machine
        self._database.execute(TABLE)
        fenced.sql.create(self._database)
        self._database.commit()

    def takes(self, entry: Entry, lease: Lease) -> bool:
        """Write it down, with the fence; false if somebody who has got the lock since then has written."""
        try:
            with fenced.sql(self._database, lease) as cursor:
                cursor.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (*astuple(entry), lease.fence))
        except StaleFence:
            return False
        return True

    def count(self) -> Counter[str]:
        """How many entries there are of each kind."""
        with closing(self._database.execute("SELECT what, COUNT(*) FROM entries GROUP BY what")) as found:
            return Counter(dict(found.fetchall()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
