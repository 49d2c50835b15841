"""What is written ahead is brought home now and then, and the log is written from its beginning again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dibs.stores.sqlite import log
from dibs.stores.sqlite.database import WRITE, Database
from dibs.stores.sqlite.location import Location

LONG = 10.0
IN_PASSING, RESTART = "PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint(RESTART)"


class Interrupted:
    """A connection, in which a signal strikes when the others are kept waiting."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, statement: str) -> sqlite3.Cursor:
        found = self._db.execute(statement)
        if statement == RESTART:
            raise KeyboardInterrupt
        return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "locks.sqlite"


@pytest.fixture
def database(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """To which each megabyte is a kilobyte."""
    monkeypatch.setattr(log, "LONG_LOG", 40_000)
    monkeypatch.setattr(log, "LONGEST_LOG", 100_000)
    monkeypatch.setattr("dibs.stores.sqlite.database.LOOK_AT_LOG", 1)
    database = Database(Location(file), lambda _: False, lambda: None)
    yield database
    database.close()


def write(database: Database, times: int) -> None:
    """Each time a page or two."""

    def bar(db: sqlite3.Connection) -> None:
        db.execute("INSERT OR REPLACE INTO bar VALUES ('a', 'me', random())")

    for _ in range(times):
        database.transact(bar, WRITE, LONG)


def asked_for(database: Database) -> list[str]:
    """What is asked for when somebody looks at the log."""
    asked: list[str] = []
    db = database._db
    assert db is not None
    db.set_trace_callback(asked.append)
    database.tidy_up()
    db.set_trace_callback(None)
    return [statement for statement in asked if "checkpoint" in statement]


def test_a_short_log_stays_as_it_is(database: Database) -> None:
    write(database, 2)
    assert asked_for(database) == []


def test_a_long_log_is_brought_home_in_passing(database: Database) -> None:
    write(database, 50)
    assert asked_for(database) == [IN_PASSING]


def test_a_very_long_one_is_written_from_its_beginning_again_and_keeps_its_length(
    file: Path, database: Database
) -> None:
    written_ahead = Path(f"{file}-wal")
    write(database, 100)
    assert asked_for(database) == [IN_PASSING, RESTART]
    size = written_ahead.stat().st_size
    write(database, 50)
    assert written_ahead.stat().st_size == size
    assert asked_for(database) == [IN_PASSING]


def test_nobody_is_kept_waiting_while_somebody_still_reads_what_was_before(file: Path, database: Database) -> None:
    write(database, 1)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT until FROM bar").fetchall()
        write(database, 100)
        assert asked_for(database) == [IN_PASSING]
    assert asked_for(database) == []
    write(database, 1)
    assert asked_for(database) == [IN_PASSING, RESTART]


def test_a_signal_that_strikes_while_others_are_kept_waiting_leaves_no_patience_behind(database: Database) -> None:
    write(database, 100)
    db = database._db
    assert db is not None
    database._db = Interrupted(db)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        database.tidy_up()
    database._db = db
    assert db.execute("PRAGMA busy_timeout").fetchone() == (0,)
    write(database, 1)
