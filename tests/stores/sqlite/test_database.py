"""One short transaction at a time: what is done, surely not done, or perhaps."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.runtime.clock import boottime
from dibs.stores.sqlite.database import Database
from dibs.stores.sqlite.location import Location

WRITE, READ = "BEGIN IMMEDIATE", "BEGIN"
LONG = 10.0


class Alone:
    """Nobody else listens; remembers how often the file was replaced."""

    def __init__(self) -> None:
        self.replaced = 0

    def listens(self, channel: str) -> bool:
        return False

    def note(self) -> None:
        self.replaced += 1


@pytest.fixture
def alone() -> Alone:
    return Alone()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "locks.sqlite"


@pytest.fixture
def database(file: Path, alone: Alone) -> Iterator[Database]:
    database = Database(Location(file), alone.listens, alone.note)
    yield database
    database.close()


def raise_fence(db: sqlite3.Connection) -> int:
    [fence] = db.execute("SELECT last_fence FROM store").fetchone()
    db.execute("UPDATE state SET last_fence = ? WHERE name = ''", (fence + 1,))
    return int(fence) + 1


def fence(db: sqlite3.Connection) -> int:
    [fence] = db.execute("SELECT last_fence FROM store").fetchone()
    return int(fence)


class Broken:
    """A connection whose commits fail."""

    def __init__(self, db: sqlite3.Connection, code: str) -> None:
        self._db, self._code = db, code

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            error = sqlite3.OperationalError("it broke")
            error.sqlite_errorname = self._code
            raise error
        return self._db.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def broken(database: Database, code: str) -> Broken:
    database.transact(fence, READ, LONG)
    assert database._db is not None
    return Broken(database._db, code)


def test_nothing_is_opened_before_the_first_use(file: Path, database: Database) -> None:
    assert not file.exists()
    assert database.transact(raise_fence, WRITE, LONG) == 1
    assert file.exists()


def test_a_closed_file_is_opened_again_when_it_is_used(database: Database, alone: Alone) -> None:
    database.transact(raise_fence, WRITE, LONG)
    database.close()
    database.close()
    assert database.transact(raise_fence, WRITE, LONG) == 2
    assert alone.replaced == 0


def test_threads_take_turns(database: Database) -> None:
    def work() -> None:
        for _ in range(50):
            database.transact(raise_fence, WRITE, LONG)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.transact(fence, READ, LONG) == 400


def test_what_fails_half_way_is_taken_back_and_told_as_it_is(database: Database) -> None:
    def fail(db: sqlite3.Connection) -> int:
        raise KeyError(raise_fence(db))

    with pytest.raises(KeyError):
        database.transact(fail, WRITE, LONG)
    assert database.transact(fence, READ, LONG) == 0


def test_a_commit_that_failed_may_have_been_done(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_db", broken(database, "SQLITE_IOERR_FSYNC"))
    with pytest.raises(StoreUnreachable, match="its disk fails") as unknown:
        database.transact(raise_fence, WRITE, LONG)
    assert not isinstance(unknown.value, StoreRefused)


def test_a_commit_that_found_the_disk_full_was_not_done(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "_db", broken(database, "SQLITE_FULL"))
        with pytest.raises(StoreRefused, match="the disk is full"):
            database.transact(raise_fence, WRITE, LONG)
    assert database.transact(fence, READ, LONG) == 0


def test_a_file_that_somebody_keeps_locked_is_waited_for_and_then_refused(file: Path, database: Database) -> None:
    database.transact(fence, READ, LONG)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute(WRITE)
    began = boottime()
    with pytest.raises(StoreRefused, match="keeps it locked"):
        database.transact(raise_fence, WRITE, 0.3)
    assert 0.25 < boottime() - began < 0.3 + 0.25
    assert database.transact(fence, READ, LONG) == 0  # to look is free
    other.execute("ROLLBACK")
    other.close()
    database.transact(raise_fence, WRITE, LONG)


def test_to_open_a_file_that_is_ready_waits_for_no_write(file: Path, database: Database, alone: Alone) -> None:
    database.transact(raise_fence, WRITE, LONG)
    late = Database(Location(file), alone.listens, alone.note)

    def see(db: sqlite3.Connection) -> int:
        raise_fence(db)
        return late.transact(fence, READ, 0.0)

    assert database.transact(see, WRITE, LONG) == 1  # what is not committed is not seen, and keeps nobody out
    late.close()


def test_a_file_that_another_makes_in_the_middle_of_a_look_is_not_taken_for_a_strangers(
    file: Path, database: Database, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Database(Location(file), alone.listens, alone.note)
    others = iter([other])

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if "sqlite_master" in statement:  # it was seen already whose it is
                for between in others:
                    with suppress(StoreRefused):
                        between.transact(raise_fence, WRITE, 0.0)
            return super().execute(statement, *values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    made = database.transact(raise_fence, WRITE, LONG)
    assert other.transact(raise_fence, WRITE, LONG) == made + 1
    other.close()


def test_a_wait_that_is_over_already_gets_one_try(database: Database) -> None:
    assert database.transact(raise_fence, WRITE, -1.0) == 1


def test_a_replaced_file_is_noticed_and_its_users_are_told(
    file: Path, database: Database, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.stores.sqlite.database.LOOK_EVERY", 0.0)
    database.transact(raise_fence, WRITE, LONG)
    file.unlink()
    with pytest.raises(StoreRefused, match="deleted or replaced"):
        database.transact(raise_fence, WRITE, LONG)
    assert alone.replaced == 0
    assert database.transact(raise_fence, WRITE, LONG) == 1
    assert alone.replaced == 1


def test_a_folder_that_cannot_be_looked_into_any_more_costs_no_lock_that_was_taken(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.stores.sqlite.database.LOOK_AT_LOG", 1)
    monkeypatch.setattr("dibs.stores.sqlite.database.LOOK_EVERY", 0.0)
    database.transact(raise_fence, WRITE, LONG)
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    tmp_path.write_text("no folder, and nothing can be found in it")
    database.tidy_up()
    with pytest.raises(StoreRefused, match="check its folder"):
        database.transact(raise_fence, WRITE, LONG)
    database.close()


def test_a_file_is_private_whatever_the_mask_says(file: Path, database: Database) -> None:
    mask = os.umask(0)
    try:
        database.transact(raise_fence, WRITE, LONG)
    finally:
        os.umask(mask)
    modes = {part.name: part.stat().st_mode & 0o777 for part in file.parent.iterdir()}
    assert modes == {"locks.sqlite": 0o600, "locks.sqlite-wal": 0o600, "locks.sqlite-shm": 0o600}


def test_an_old_sqlite_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 7, 17))
    with pytest.raises(StoreRefused, match="too old"):
        database.transact(raise_fence, WRITE, LONG)


def test_a_handler_that_asks_within_an_ask_is_refused(database: Database) -> None:
    def ask_again(db: sqlite3.Connection) -> int:
        with pytest.raises(StoreRefused, match="in the middle of an ask"):
            database.transact(raise_fence, WRITE, LONG)
        return raise_fence(db)

    assert database.transact(ask_again, WRITE, LONG) == 1
