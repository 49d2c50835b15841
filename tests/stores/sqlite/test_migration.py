"""A file that an older dibs has made goes on with what is in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import dibs
from dibs import StoreUnreachable
from dibs.model.asks import Granted, Queued, Said
from dibs.runtime.clock import boottime
from dibs.stores.sqlite import schema
from dibs.stores.sqlite.boot import boot_id
from dibs.stores.sqlite.schema import APPLICATION_ID, FORMAT, PAGE_SIZE, Unfit, check
from tests.stores.sqlite.turns import BOOT, Turns

TABLES_1 = """
CREATE TABLE store (
    format INTEGER NOT NULL,
    last_fence INTEGER NOT NULL,
    barred_until REAL NOT NULL,           -- no bar stands after this
    boot TEXT NOT NULL                    -- a lease does not outlive the boot that it was timed by
);
CREATE TABLE lock (                       -- a row while somebody holds it or waits for it
    name TEXT PRIMARY KEY,
    waiters INTEGER NOT NULL,
    soonest REAL NOT NULL,                -- no ticket expires before this
    shortest REAL NOT NULL,               -- no ticket has a shorter TTL than this
    owner TEXT, fence INTEGER, ttl REAL, since REAL, expires_at REAL, channel TEXT, who TEXT, purpose TEXT
) WITHOUT ROWID;
CREATE TABLE ticket (
    name TEXT NOT NULL, place INTEGER NOT NULL,
    owner TEXT NOT NULL, ttl REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, seen INTEGER NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ticket_of_owner ON ticket (name, owner);
CREATE TABLE bar (
    name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
"""
LOOK_1 = """
SELECT format, boot, last_fence, barred_until, waiters, soonest, shortest,
    lock.owner, lock.fence, lock.ttl, lock.since, lock.expires_at, lock.channel, lock.who, lock.purpose,
    head.place, head.owner, head.ttl, head.channel, head.who, head.purpose, head.seen
FROM store LEFT JOIN lock ON lock.name = ?1
LEFT JOIN ticket AS head ON head.name = ?1 AND head.place = (SELECT min(place) FROM ticket WHERE name = ?1)
"""
FENCE = 2_000_000_000_000_000


def made(file: Path, name: str, *, boot: str, now: float) -> None:
    """A file of format 1 in which one holds a lock, two wait for it, and one is barred from it."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    db.executescript(TABLES_1)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("INSERT INTO store VALUES (1, ?, ?, ?)", (FENCE, now + 60, boot))
    lock = (name, 2, now + 60, 60, "holder", FENCE, 60, 1e9, now + 60, "holder's channel", "the holder", "work")
    db.execute(f"INSERT INTO lock VALUES ({', '.join('?' * len(lock))})", lock)  # noqa: S608
    for place, owner in enumerate(("first", "second"), 1):
        ticket = (name, place, owner, 60, now + 60, f"{owner}'s channel", owner, "", 0, 1e9)
        db.execute(f"INSERT INTO ticket VALUES ({', '.join('?' * len(ticket))})", ticket)  # noqa: S608
    db.execute("INSERT INTO lock (name, waiters, soonest, shortest) VALUES ('nobody has it', 0, 0, 0)")
    db.execute("INSERT INTO bar VALUES (?, 'barred', ?)", (name, now + 60))
    db.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "locks.sqlite"
    made(file, "a", boot=BOOT, now=100.0)
    return file


def test_a_held_lock_stays_held_and_its_queue_in_order(file: Path) -> None:
    turns = Turns(str(file))
    assert turns.db.execute("SELECT format FROM store").fetchone() == (FORMAT,)
    assert turns.holders() == ["the holder"]
    assert [held.room for held in turns.execute("inspect", "a").holders] == [1]
    late = turns.ask("late")
    assert isinstance(late, Queued)
    assert (late.position, late.held.who) == (2, "the holder")
    assert turns.ask("barred") is Said.REFUSED
    assert turns.renew("holder", FENCE, ttl=60) is Said.KEPT
    assert turns.leave("holder") is Said.RELEASED
    assert [(push.owner, push.kind) for push in turns.pushes] == [("first", "handed")]
    assert turns.pushes[0].fence > FENCE
    assert turns.holders() == ["first"]
    assert isinstance(turns.execute("ask", "nobody has it", turns.wish("me")), Granted)
    turns.db.close()


def test_a_migrated_file_is_like_a_new_one(file: Path) -> None:
    migrated, new = Turns(str(file)), Turns()
    for table in ("store", "lock", "holder", "ticket", "bar", "memo", "counted"):
        columns = f"SELECT * FROM pragma_table_info('{table}')"  # noqa: S608
        indexes = f"SELECT name, \"unique\" FROM pragma_index_list('{table}') ORDER BY name"  # noqa: S608
        assert new.db.execute(columns).fetchall()
        assert migrated.db.execute(columns).fetchall() == new.db.execute(columns).fetchall()
        assert migrated.db.execute(indexes).fetchall() == new.db.execute(indexes).fetchall()
    migrated.db.close()
    new.db.close()


def test_it_is_migrated_in_place_by_the_first_who_opens_it(tmp_path: Path) -> None:
    file = tmp_path / "in use.sqlite"
    made(file, "dibs:a", boot=boot_id(), now=boottime())
    with dibs.connect(f"sqlite:///{file}", quiet=True) as d:
        with pytest.raises(dibs.LockBusy) as busy:
            d.lock("a", wait=0).acquire()
        assert "the holder" in str(busy.value)
        d.lock("b").acquire().release()


def test_an_older_dibs_that_has_it_open_notices_at_its_next_turn(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Turns(str(file)).db.close()
    db = sqlite3.connect(file)
    found, boot, *_ = db.execute(LOOK_1, ("a",)).fetchone()
    db.close()
    monkeypatch.setattr(schema, "FORMAT", 1)
    with pytest.raises(Unfit, match="a newer dibs has written it, in format 2"):
        check(found, boot, BOOT)


def test_an_older_dibs_that_opens_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "locks.sqlite"
    with dibs.connect(f"sqlite:///{file}", quiet=True) as d:
        d.lock("a").acquire().release()
    monkeypatch.setattr(schema, "FORMAT", 1)
    with (
        dibs.connect(f"sqlite:///{file}", quiet=True) as d,
        pytest.raises(StoreUnreachable, match="a newer dibs has written it, in format 2"),
    ):
        d.lock("a", wait=0.1).acquire()
