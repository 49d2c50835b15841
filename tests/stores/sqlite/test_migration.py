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
from dibs.model.sheet import Change, Entry, Question, Sheet
from dibs.runtime.clock import boottime
from dibs.stores.sqlite import schema
from dibs.stores.sqlite.boot import boot_id
from dibs.stores.sqlite.schema import APPLICATION_ID, FORMAT, PAGE_SIZE, Unfit, check
from tests.stores.sqlite.formats import TABLES
from tests.stores.sqlite.turns import BOOT, Turns

LOOK_1 = """
SELECT format, boot, last_fence, barred_until, waiters, soonest, shortest,
    lock.owner, lock.fence, lock.ttl, lock.since, lock.expires_at, lock.channel, lock.who, lock.purpose,
    head.place, head.owner, head.ttl, head.channel, head.who, head.purpose, head.seen
FROM store LEFT JOIN lock ON lock.name = ?1
LEFT JOIN ticket AS head ON head.name = ?1 AND head.place = (SELECT min(place) FROM ticket WHERE name = ?1)
"""
LOOKS = {1: (LOOK_1, ("a",)), **dict.fromkeys((2, 3, 4), ("SELECT format, boot FROM store", ()))}
"""How an older dibs finds out, within a turn, which format the file has by now."""
FENCE = 2_000_000_000_000_000


def made(file: Path, name: str, *, boot: str, now: float, made_in: int) -> None:
    """A file of an older format in which one holds a lock, two wait for it, and one is barred from it."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    db.executescript(TABLES[made_in])
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(
        "INSERT INTO store (format, last_fence, barred_until, boot) VALUES (?, ?, ?, ?)",
        (made_in, FENCE, now + 60, boot),
    )
    if made_in >= 3:
        db.execute("UPDATE store SET life = 'its life'")
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
    for table in ("store", "lock", "holder", "queue", "bar", "memo", "counted", "job", "history", "entry", "found"):
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


def test_sheets_are_kept_and_what_was_noted_of_them_is_found_by_their_names(tmp_path: Path) -> None:
    file = tmp_path / "locks.sqlite"
    made(file, "a", boot=BOOT, now=100.0, made_in=3)
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("INSERT INTO job VALUES (7, 'n:', 'b', 12, NULL, 0, 'b''s'), (8, 'n:', 'a', 13, 5.0, 3, 'a''s')")
    db.execute("INSERT INTO job VALUES (9, 'other:', 'a', 14, 6.0, 1, 'theirs')")
    wall = Turns().wall
    for number, (job, ago) in enumerate([(8, 5), (8, 9), (9, 1), (8, 5)]):
        db.execute("INSERT INTO entry (job, at, text) VALUES (?, ?, ?)", (job, wall - ago, f"{number}"))
    db.close()
    turns = Turns(str(file))
    look = turns.execute("named", "n:", "", "", 10)
    assert (look.life, look.sheets) == ("its life", [Sheet("a", 13, "a's"), Sheet("b", 12, "b's")])
    assert [sheet.name for sheet in turns.execute("due", "n:", 0, 10).sheets] == ["a"]
    lines = turns.execute("lines", "n:", Question("a"))
    assert [(line.name, line.at, line.text) for line in lines] == [
        ("a", wall - 5, "3"),
        ("a", wall - 5, "0"),
        ("a", wall - 9, "1"),
    ]
    assert [line.text for line in turns.execute("lines", "other:", Question("a"))] == ["2"]
    change = Change("a", 13, "text", None, -inf, inf, entries=[Entry(wall, "new", ("ok",))], keep=2)
    assert all(turns.execute("amend", "n:", [change]))
    assert [line.text for line in turns.execute("lines", "n:", Question("a"))] == ["new", "3"]
    assert (turns.rows("entry"), turns.rows("found"), turns.rows("history")) == (3, 4, 2)
    turns.now += 31 * 86_400
    turns.execute("note", "other:", Change("b", 0, None, None, -inf, inf, entries=[Entry(turns.wall, "b")]))
    assert turns.execute("lines", "other:", Question("a")) == []
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
