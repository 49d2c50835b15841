"""A file that an older dibs has made goes on with what is in it."""

from __future__ import annotations

import sqlite3
from math import inf
from pathlib import Path

import pytest

import dibs
from dibs import StoreUnreachable
from dibs.model.asks import Granted, Queued, Said
from dibs.model.counts import Count
from dibs.model.sheet import Change
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
TABLES_2 = """
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
    owner TEXT, fence INTEGER, ttl REAL, since REAL, expires_at REAL, channel TEXT, who TEXT, purpose TEXT,
    room INTEGER, depth INTEGER,
    others INTEGER NOT NULL DEFAULT 0,    -- so many hold it beside the first, with a row in `holder` each
    ends REAL NOT NULL DEFAULT 0,         -- none of their leases ends before this
    tightest INTEGER NOT NULL DEFAULT 1   -- none of them allows fewer than this
) WITHOUT ROWID;
CREATE TABLE ticket (
    name TEXT NOT NULL, place INTEGER NOT NULL,
    owner TEXT NOT NULL, ttl REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, seen INTEGER NOT NULL, since REAL NOT NULL,
    room INTEGER NOT NULL DEFAULT 1, depth INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ticket_of_owner ON ticket (name, owner);
CREATE TABLE bar (
    name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (name, owner)
) WITHOUT ROWID;
CREATE TABLE holder (
    name TEXT NOT NULL,
    owner TEXT NOT NULL, fence INTEGER NOT NULL, ttl REAL NOT NULL, since REAL NOT NULL, expires_at REAL NOT NULL,
    channel TEXT NOT NULL, who TEXT NOT NULL, purpose TEXT NOT NULL, room INTEGER NOT NULL, depth INTEGER NOT NULL,
    PRIMARY KEY (name, fence)
) WITHOUT ROWID;
CREATE UNIQUE INDEX holder_of_owner ON holder (name, owner);
CREATE TABLE memo (                       -- what was noted of work that was done under a lock
    name TEXT PRIMARY KEY, text TEXT NOT NULL, made_at REAL NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX memo_until ON memo (until);
CREATE TABLE counted (                    -- how often what happened to which lock, by namespace
    space TEXT NOT NULL, name TEXT NOT NULL, what TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (space, name, what)
) WITHOUT ROWID;
"""
TABLES = {1: TABLES_1, 2: TABLES_2}
LOOK_1 = """
SELECT format, boot, last_fence, barred_until, waiters, soonest, shortest,
    lock.owner, lock.fence, lock.ttl, lock.since, lock.expires_at, lock.channel, lock.who, lock.purpose,
    head.place, head.owner, head.ttl, head.channel, head.who, head.purpose, head.seen
FROM store LEFT JOIN lock ON lock.name = ?1
LEFT JOIN ticket AS head ON head.name = ?1 AND head.place = (SELECT min(place) FROM ticket WHERE name = ?1)
"""
LOOKS = {1: (LOOK_1, ("a",)), 2: ("SELECT format, boot FROM store", ())}
"""How an older dibs finds out, within a turn, which format the file has by now."""
FENCE = 2_000_000_000_000_000


def made(file: Path, name: str, *, boot: str, now: float, made_in: int) -> None:
    """A file of an older format in which one holds a lock, two wait for it, and one is barred from it."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    db.executescript(TABLES[made_in])
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("INSERT INTO store VALUES (?, ?, ?, ?)", (made_in, FENCE, now + 60, boot))
    lock: tuple[object, ...] = (
        name,
        2,
        now + 60,
        60,
        "holder",
        FENCE,
        60,
        1e9,
        now + 60,
        "holder's channel",
        "the holder",
        "work",
    )
    lock += () if made_in == 1 else (1, 0, 0, 0, 1)
    db.execute(f"INSERT INTO lock VALUES ({', '.join('?' * len(lock))})", lock)  # noqa: S608
    for place, owner in enumerate(("first", "second"), 1):
        ticket: tuple[object, ...] = (name, place, owner, 60, now + 60, f"{owner}'s channel", owner, "", 0, 1e9)
        ticket += () if made_in == 1 else (1, 0)
        db.execute(f"INSERT INTO ticket VALUES ({', '.join('?' * len(ticket))})", ticket)  # noqa: S608
    db.execute("INSERT INTO lock (name, waiters, soonest, shortest) VALUES ('nobody has it', 0, 0, 0)")
    db.execute("INSERT INTO bar VALUES (?, 'barred', ?)", (name, now + 60))
    db.close()


@pytest.fixture(params=TABLES)
def made_in(request: pytest.FixtureRequest) -> int:
    """By which format."""
    return int(request.param)


@pytest.fixture
def file(tmp_path: Path, made_in: int) -> Path:
    file = tmp_path / "locks.sqlite"
    made(file, "a", boot=BOOT, now=100.0, made_in=made_in)
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
    for table in ("store", "lock", "holder", "ticket", "bar", "memo", "counted", "job", "entry"):
        columns = f"SELECT * FROM pragma_table_info('{table}')"  # noqa: S608
        indexes = f"SELECT name, \"unique\" FROM pragma_index_list('{table}') ORDER BY name"  # noqa: S608
        assert new.db.execute(columns).fetchall()
        assert migrated.db.execute(columns).fetchall() == new.db.execute(columns).fetchall()
        assert migrated.db.execute(indexes).fetchall() == new.db.execute(indexes).fetchall()
    migrated.db.close()
    new.db.close()


def test_what_a_fleet_remembers_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "locks.sqlite"
    made(file, "a", boot=BOOT, now=100.0, made_in=2)
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("INSERT INTO memo VALUES ('a', 'done', 1e9, 9e9)")
    db.execute("INSERT INTO counted VALUES ('n:', 'a', 'acquired', 3)")
    db.close()
    turns = Turns(str(file))
    assert turns.execute("recall", "a").text == "done"
    assert turns.execute("counted", "n:") == [Count("a", "acquired", 3)]
    turns.db.close()


def test_it_has_sheets_from_then_on_and_a_life_of_its_own(file: Path) -> None:
    turns, new = Turns(str(file)), Turns()
    [revision] = turns.execute("amend", "n:", [Change("a", 0, "text", None, -inf, inf)])
    assert revision == FENCE + 1
    lives = {each.execute("sheets", "n:", ["a"]).life for each in (turns, new)}
    assert len(lives - {""}) == 2
    turns.db.close()
    new.db.close()


def test_it_is_migrated_in_place_by_the_first_who_opens_it(tmp_path: Path, made_in: int) -> None:
    file = tmp_path / "in use.sqlite"
    made(file, "dibs:a", boot=boot_id(), now=boottime(), made_in=made_in)
    with dibs.connect(f"sqlite:///{file}", quiet=True) as d:
        with pytest.raises(dibs.LockBusy) as busy:
            d.lock("a", wait=0).acquire()
        assert "the holder" in str(busy.value)
        d.lock("b").acquire().release()


def test_an_older_dibs_that_has_it_open_notices_at_its_next_turn(
    file: Path, made_in: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Turns(str(file)).db.close()
    db = sqlite3.connect(file)
    found, boot, *_ = db.execute(*LOOKS[made_in]).fetchone()
    db.close()
    monkeypatch.setattr(schema, "FORMAT", made_in)
    with pytest.raises(Unfit, match=f"a newer dibs has written it, in format {FORMAT}"):
        check(found, boot, BOOT)


def test_an_older_dibs_that_opens_it_refuses(tmp_path: Path, made_in: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "locks.sqlite"
    with dibs.connect(f"sqlite:///{file}", quiet=True) as d:
        d.lock("a").acquire().release()
    monkeypatch.setattr(schema, "FORMAT", made_in)
    with (
        dibs.connect(f"sqlite:///{file}", quiet=True) as d,
        pytest.raises(StoreUnreachable, match=f"a newer dibs has written it, in format {FORMAT}"),
    ):
        d.lock("a", wait=0.1).acquire()
