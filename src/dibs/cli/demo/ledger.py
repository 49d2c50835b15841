"""The thing under the lock: a file that trusts no lock, and so can say whether the lock was any good.

It is apart from the lock's store, and all processes of the demo write to it. Two things are kept in it:

- a counter. A turn enters, is told the value, works on it, and writes it back. Whoever comes with a fence that is
  not above the newest is refused, and so is the write of one who was overtaken since it entered.
- the seconds for which the once-a-second job was done, each with the fence it was done under.

**An overlap** is two leases that stood at the same time. Everybody says on entering and on writing until when it
trusts its own lease (`until`, by the clock that all processes of the machine share). So it is an overlap when

- somebody enters while another is inside, and that one's trust had not ended; or
- somebody is refused for a fence too old, although its own trust reaches beyond the entry of the newer one.

One who was killed inside is none: its trust ends by itself, and whoever enters later finds it ended. Nor is one who
was stopped and overtaken: when it goes on, its trust is over, and its late write is refused.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping
    from pathlib import Path

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE account (
    value INTEGER NOT NULL DEFAULT 0, newest INTEGER NOT NULL DEFAULT 0, entered_at REAL NOT NULL DEFAULT 0,
    writes INTEGER NOT NULL DEFAULT 0, handovers INTEGER NOT NULL DEFAULT 0, writer TEXT NOT NULL DEFAULT '',
    refused INTEGER NOT NULL DEFAULT 0, overlaps INTEGER NOT NULL DEFAULT 0, repeated INTEGER NOT NULL DEFAULT 0,
    twice INTEGER NOT NULL DEFAULT 0, newest_of_job INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE visit (fence INTEGER PRIMARY KEY, worker TEXT, until REAL, overtaken_at REAL, heir TEXT);
CREATE TABLE worker (name TEXT PRIMARY KEY, turns INTEGER NOT NULL DEFAULT 0, is_here INTEGER NOT NULL DEFAULT 0);
CREATE TABLE tick (at INTEGER PRIMARY KEY, worker TEXT, fence INTEGER);
INSERT INTO account DEFAULT VALUES;
"""

STILL_TRUSTING = "SELECT count(*) FROM visit WHERE overtaken_at IS NULL AND until > ?"
OVERTAKE = "UPDATE visit SET overtaken_at = ?, heir = ? WHERE overtaken_at IS NULL"
WRITE = "UPDATE account SET value = ?, writes = writes + 1, handovers = handovers + (writer <> ?), writer = ?"
SHOW_VISIT = "SELECT fence, worker, overtaken_at, ifnull(heir, '') FROM visit WHERE fence = ?"
SHOW_ACCOUNT = """
SELECT value, newest, writes, handovers, refused, overlaps, repeated, twice, (SELECT count(*) FROM tick) FROM account
"""
COUNT = "UPDATE account SET refused = refused + ?, overlaps = overlaps + ?, repeated = repeated + ?, twice = twice + ?"

PATIENCE = 10.0
A_GLANCE = 0.05


@dataclass(frozen=True, slots=True)
class Visit:
    """One who is inside, or was when it died."""

    fence: int
    worker: str
    overtaken_at: float | None = None
    heir: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the ledger has seen so far."""

    turns: Mapping[str, int]
    value: int
    newest: int
    writes: int
    handovers: int
    refused: int
    overlaps: int
    repeated: int
    twice: int
    ticks: int
    last_tick: int
    last_tick_by: str

    def faults(self) -> list[str]:
        """All that speaks against the lock, in words; nothing if it was good."""
        found = [
            (self.overlaps, f"leases that stood at the same time as another: {self.overlaps}"),
            (self.repeated, f"fences that came twice: {self.repeated}"),
            (self.writes - self.value, f"writes that were lost: {self.writes - self.value} of {self.writes}"),
            (self.twice, f"seconds whose job was done twice: {self.twice}"),
            (not self.writes, "nobody ever got inside"),
        ]
        return [words for is_so, words in found if is_so]


class Ledger:
    """One process's hand on the file. Its transactions guard its own few lines only, never a whole turn."""

    def __init__(self, path: Path, *, now: Callable[[], float] = boottime) -> None:
        self._now = now
        uri = f"file:{quote(str(path))}?mode=rw"
        self._db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = OFF")  # it need not outlive the machine

    @classmethod
    def create(cls, path: Path, workers: Iterable[str], *, now: Callable[[], float] = boottime) -> Self:
        """A new one, in a file that is not there yet."""
        with closing(sqlite3.connect(path)) as db:
            db.executescript(SCHEMA)
            db.executemany("INSERT INTO worker (name) VALUES (?)", [(name,) for name in workers])
            db.commit()
        return cls(path, now=now)

    # What a worker does.

    def sign_in(self, worker: str) -> None:
        """Be here, and ready to work."""
        self._db.execute("UPDATE worker SET is_here = 1 WHERE name = ?", (worker,))

    def enter(self, worker: str, fence: int, *, until: float) -> int | None:
        """The value so far, to be worked on; `None` for one who comes too late."""
        with self._transaction() as db:
            now = self._now()
            value, newest, entered_at = db.execute("SELECT value, newest, entered_at FROM account").fetchone()
            if fence <= newest:
                self._count(refused=1, repeated=fence == newest, overlaps=fence < newest and until > entered_at)
                return None
            [overlaps] = db.execute(STILL_TRUSTING, (now,)).fetchone()
            self._count(overlaps=overlaps)
            db.execute(OVERTAKE, (now, worker))
            db.execute("INSERT INTO visit (fence, worker, until) VALUES (?, ?, ?)", (fence, worker, until))
            db.execute("UPDATE account SET newest = ?, entered_at = ?", (fence, now))
            return int(value)

    def write(self, worker: str, fence: int, value: int, *, until: float) -> bool:
        """Write the new value and be outside again; false for one who was overtaken meanwhile."""
        with self._transaction() as db:
            found = db.execute("SELECT until, overtaken_at FROM visit WHERE fence = ?", (fence,)).fetchone()
            if found is None or found[1] is not None:
                # Trust that reached over the newcomer's entry was counted then; this is for trust renewed since.
                is_overlap = found is not None and found[0] <= found[1] < until
                self._count(refused=1, overlaps=is_overlap)
            else:
                db.execute(WRITE, (value, worker, worker))
                db.execute("UPDATE worker SET turns = turns + 1 WHERE name = ?", (worker,))
            self.forget(fence)
            return found is not None and found[1] is None

    def begin(self, fence: int, tick: int) -> bool:
        """Whether the job of that second is still to be done; from here on, nobody with an older fence can do it."""
        with self._transaction() as db:
            db.execute("UPDATE account SET newest_of_job = max(newest_of_job, ?)", (fence,))
            return db.execute("SELECT 1 FROM tick WHERE at = ?", (tick,)).fetchone() is None

    def note_done(self, worker: str, fence: int, tick: int) -> None:
        """The job of that second was done; once, it is to be hoped. One who was overtaken meanwhile is refused."""
        with self._transaction() as db:
            [newest] = db.execute("SELECT newest_of_job FROM account").fetchone()
            if fence < newest:
                self._count(refused=1)
                return
            db.execute("UPDATE account SET newest_of_job = ?", (fence,))
            added = db.execute("INSERT OR IGNORE INTO tick VALUES (?, ?, ?)", (tick, worker, fence)).rowcount
            self._count(twice=not added)

    # What the primary looks at.

    def present(self) -> Collection[str]:
        """Who has signed in."""
        return {name for (name,) in self._db.execute("SELECT name FROM worker WHERE is_here")}

    def inside(self) -> Visit | None:
        """Who is inside just now, dead or alive."""
        found = self._db.execute("SELECT fence, worker FROM visit WHERE overtaken_at IS NULL").fetchone()
        return None if found is None else Visit(*found)

    def visit(self, fence: int) -> Visit | None:
        """The visit with that fence, if it has not ended in a write."""
        found = self._db.execute(SHOW_VISIT, (fence,)).fetchone()
        return None if found is None else Visit(*found)

    def forget(self, fence: int) -> None:
        """A visit is over, and nobody will ask about it."""
        self._db.execute("DELETE FROM visit WHERE fence = ?", (fence,))

    def is_free(self) -> bool:
        """Whether nobody is in the middle of a transaction, at least not for longer than a glance."""
        self._db.execute(f"PRAGMA busy_timeout = {A_GLANCE * 1000:.0f}")
        try:
            with self._transaction():
                return True
        except sqlite3.OperationalError:
            return False
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")

    def ticks(self, first: int) -> set[int]:
        """The seconds whose job was done, from the first on."""
        return {tick for (tick,) in self._db.execute("SELECT at FROM tick WHERE at >= ?", (first,))}

    def tally(self) -> Tally:
        """All of it, as of now."""
        with self._transaction("BEGIN") as db:
            turns = dict(db.execute("SELECT name, turns FROM worker ORDER BY name").fetchall())
            account = db.execute(SHOW_ACCOUNT).fetchone()
            last = db.execute("SELECT at, worker FROM tick ORDER BY at DESC LIMIT 1").fetchone()
        return Tally(turns, *account, *(last or (0, "")))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Generator[sqlite3.Connection]:
        self._db.execute(begin)
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _count(self, *, refused: int = 0, overlaps: int = 0, repeated: int = 0, twice: int = 0) -> None:
        if refused or overlaps or repeated or twice:
            self._db.execute(COUNT, (refused, overlaps, repeated, twice))
