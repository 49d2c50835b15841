"""What is in the file: who made it, in which format, and in which boot of the machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from dibs import Dibs, StoreUnreachable
from dibs.stores.sqlite import schema
from dibs.stores.sqlite.schema import APPLICATION_ID, FORMAT, Unfit, check, prepare, sweep

BOOT = "this boot"


def nobody(_: str) -> bool:
    return False


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    yield db
    db.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store that was used, and that nobody has open."""
    file = tmp_path / "locks.sqlite"
    with connected(file) as d:
        d.lock("a").acquire().release()
    return file


def connected(file: Path) -> Dibs:
    return dibs.connect(f"sqlite:///{file}", quiet=True)


def change(file: Path, *statements: str) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def found(file: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(file)
    rows = db.execute(query).fetchall()
    db.close()
    return rows


def told(file: Path) -> str:
    with connected(file) as d, pytest.raises(StoreUnreachable) as unknown:
        d.lock("a", wait=0.1).acquire()
    assert str(file) in str(unknown.value)
    return str(unknown.value)


def test_a_new_file_is_marked_as_ours(file: Path) -> None:
    assert found(file, "PRAGMA application_id") == [(APPLICATION_ID,)]
    [(file_format, boot)] = found(file, "SELECT format, boot FROM store")
    assert file_format == FORMAT
    assert boot


def test_a_file_is_prepared_once(db: sqlite3.Connection) -> None:
    prepare(db, BOOT, nobody)
    prepare(db, BOOT, nobody)
    assert db.execute("SELECT count(*) FROM store").fetchone() == (1,)


def test_another_program_s_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "theirs.sqlite"
    change(file, "CREATE TABLE theirs (a)", "INSERT INTO theirs VALUES (1)")
    text = told(file)
    assert "another program's data" in text
    assert "name a file of its own for dibs" in text
    assert found(file, "SELECT name FROM sqlite_master") == [("theirs",)]
    assert found(file, "SELECT * FROM theirs") == [(1,)]


def test_neither_permissions_nor_journal_of_another_program_s_file_are_changed(tmp_path: Path) -> None:
    file = tmp_path / "theirs.sqlite"
    change(file, "CREATE TABLE theirs (a)")
    file.chmod(0o664)
    told(file)
    assert file.stat().st_mode & 0o777 == 0o664
    assert found(file, "PRAGMA journal_mode") == [("delete",)]


def test_a_file_of_another_program_with_a_mark_of_its_own_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "theirs.sqlite"
    change(file, "PRAGMA application_id = 123456", "CREATE TABLE theirs (a)")
    assert "another program's data" in told(file)
    assert found(file, "PRAGMA application_id") == [(123456,)]


def test_a_newer_format_is_refused(file: Path) -> None:
    change(file, "UPDATE state SET format = format + 1")
    text = told(file)
    assert f"a newer dibs has written it, in format {FORMAT + 1}" in text
    assert "upgrade dibs" in text


def test_a_newer_format_is_refused_whatever_else_it_has_changed(file: Path) -> None:
    """After a boot, too, when there is much to drop."""
    change(
        file,
        "UPDATE state SET format = format + 1, boot = 'another'",
        "DROP VIEW ticket",
        "DROP VIEW lock",
        "ALTER TABLE queue RENAME COLUMN channel TO address",
    )
    assert "a newer dibs has written it" in told(file)
    assert found(file, "SELECT boot FROM store") == [("another",)]


def test_a_file_that_becomes_newer_while_it_is_open_is_refused_from_then_on(file: Path) -> None:
    with connected(file) as d:
        lease = d.lock("a", ttl=0.5).acquire()
        change(file, "UPDATE state SET format = format + 1")
        with pytest.raises(StoreUnreachable, match="newer dibs"):
            d.lock("b", wait=0.1).acquire()
        with pytest.raises(StoreUnreachable, match="newer dibs"):
            lease.release()


def test_an_older_format_is_brought_up_to_date_step_by_step(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {
        FORMAT: "ALTER TABLE queue ADD COLUMN colour TEXT",
        FORMAT + 1: "CREATE TABLE later (a); CREATE TABLE later_still (b)",
    }
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    monkeypatch.setattr(schema, "FORMAT", FORMAT + 2)
    db = sqlite3.connect(file, isolation_level=None)
    [fence] = db.execute("SELECT last_fence FROM store").fetchone()
    [boot] = db.execute("SELECT boot FROM store").fetchone()
    db.execute("BEGIN IMMEDIATE")
    prepare(db, boot, nobody)
    db.execute("COMMIT")
    assert db.execute("SELECT format, last_fence FROM store").fetchall() == [(FORMAT + 2, fence)]
    assert db.execute("SELECT colour FROM queue").fetchall() == []
    assert db.execute("SELECT * FROM later_still").fetchall() == []
    db.close()


def test_a_step_that_fails_leaves_the_older_format_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", {FORMAT: "CREATE TABLE half (a); CREATE TABLE state (again)"})
    monkeypatch.setattr(schema, "FORMAT", FORMAT + 1)
    assert "already exists" in told(file)
    assert found(file, "SELECT format FROM store") == [(FORMAT,)]
    assert found(file, "SELECT name FROM sqlite_master WHERE name = 'half'") == []


def test_what_an_earlier_boot_left_is_dropped_and_fences_rise_on(file: Path) -> None:
    with connected(file) as d:
        lease = d.lock("a", ttl=3600).acquire()
        fence = lease.fence
    change(file, "UPDATE state SET boot = 'an earlier one'")
    with connected(file) as d:
        again = d.lock("a", wait=5).acquire()
        assert again.fence > fence
        again.release()


def test_a_file_in_use_in_another_boot_is_refused(file: Path) -> None:
    """Its clock is not ours: it is in another container, say."""
    with connected(file) as d:
        lease = d.lock("a", ttl=60).acquire()
        change(file, "UPDATE state SET boot = 'of the container next door'")
        with pytest.raises(StoreUnreachable, match="another clock") as unknown:
            d.lock("b", wait=0.1).acquire()
        assert "a file of its own" in str(unknown.value)
        with pytest.raises(StoreUnreachable, match="another clock"):
            lease.release()


def test_a_file_in_whose_queue_somebody_of_another_boot_listens_is_refused(db: sqlite3.Connection) -> None:
    prepare(db, "theirs", nobody)
    columns = [name for _, name, *_ in db.execute("PRAGMA table_info(ticket)")]
    values = {"name": "'a'", "channel": "'their channel'", "owner": "'they'", "who": "'they'", "purpose": "''"}
    listed = ", ".join(values.get(column, "1") for column in columns)
    db.execute(f"INSERT INTO queue VALUES ({listed})")  # noqa: S608
    with pytest.raises(Unfit, match="another clock"):
        prepare(db, BOOT, "their channel".__eq__)
    prepare(db, BOOT, nobody)
    assert db.execute("SELECT count(*) FROM queue").fetchone() == (0,)


def test_every_turn_is_checked() -> None:
    check(FORMAT, BOOT, BOOT)
    with pytest.raises(Unfit, match="newer"):
        check(FORMAT + 1, BOOT, BOOT)
    with pytest.raises(Unfit, match="another clock"):
        check(FORMAT, "another", BOOT)


def test_a_file_that_lost_its_first_row_is_told_to_be_damaged(file: Path) -> None:
    change(file, "DELETE FROM state WHERE name = ''")
    assert "damaged" in told(file)


def test_a_sweep_drops_what_has_run_out_and_nothing_else(file: Path) -> None:
    with connected(file) as d:
        kept = d.lock("kept", ttl=600).acquire()
        d.lock("dropped", ttl=600).acquire()
        db = sqlite3.connect(file, isolation_level=None)
        db.execute("UPDATE state SET expires_at = 5 WHERE name LIKE '%dropped'")
        db.execute("INSERT INTO bar VALUES ('a', 'old', 5), ('a', 'new', 50)")
        sweep(db, now=10, wall=10)
        assert db.execute("SELECT name FROM lock").fetchall() == [("dibs:kept",)]
        assert db.execute("SELECT owner FROM bar").fetchall() == [("new",)]
        db.close()
        kept.release()
