"""The sheets of jobs in the file: by the time of day, by the counter of the fences, and found by index."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from dibs.model.sheet import MOST_FORGOTTEN, Change, Entry, Question, Sheet
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.stores.sqlite.schema import Unfit, prepare
from dibs.testing.contract.books import Books
from tests.stores.sqlite.turns import BOOT, Turns, nobody

SPACE = "n:"


@pytest.fixture
def turns() -> Iterator[Turns]:
    turns = Turns()
    yield turns
    turns.db.close()


def changed(name: str = "a", revision: int = 0, text: str | None = "text", **more: Any) -> Change:
    facts: dict[str, Any] = {"acts_at": None, "earliest": -inf, "not_after": inf, **more}
    return Change(name, revision, text, **facts)


def amend(turns: Turns, change: Change) -> int:
    [revision] = turns.execute("amend", SPACE, [change])
    return int(revision)


def noted(turns: Turns, name: str = "a") -> list[str]:
    return [line.text for line in turns.execute("lines", SPACE, Question(name, limit=1_000))]


def test_jobs_are_timed_by_the_time_of_day(turns: Turns) -> None:
    assert amend(turns, changed(earliest=turns.wall + 1)) == 0
    assert amend(turns, changed(not_after=turns.wall - 1)) == 0
    assert amend(turns, changed(earliest=turns.wall, not_after=turns.wall, acts_at=turns.wall + 5))
    look = turns.execute("due", SPACE, 0, 10)
    assert (look.now, look.sheets, look.next_at) == (turns.wall, [], turns.wall + 5)
    turns.now += 5
    look = turns.execute("due", SPACE, 0, 10)
    assert (look.now, [sheet.name for sheet in look.sheets], look.next_at) == (turns.wall, ["a"], None)


def test_what_was_noted_is_dropped_by_the_time_of_day(turns: Turns) -> None:
    first = amend(turns, changed(entries=[Entry(turns.wall, "first")]))
    turns.now += 50
    second = amend(turns, changed(revision=first, entries=[Entry(turns.wall, "second")], keep_for=50.5))
    assert noted(turns) == ["second", "first"]
    turns.now += 1
    amend(turns, changed(revision=second, entries=[Entry(turns.wall, "third")], keep_for=50.5))
    assert noted(turns) == ["third", "second"]


def test_revisions_and_fences_come_from_one_counter(turns: Turns) -> None:
    fence = turns.enter("holder")
    revision = amend(turns, changed(seen=fence + 1_000_000_000))
    assert revision == fence + 1_000_000_001
    turns.leave("holder")
    assert turns.enter("another") == revision + 1
    assert amend(turns, changed("b")) == revision + 2


def test_a_change_that_is_refused_raises_no_counter(turns: Turns) -> None:
    revision = amend(turns, changed())
    assert amend(turns, changed(seen=revision + 1_000_000_000)) == 0
    assert turns.db.execute("SELECT last_fence FROM store").fetchone() == (revision,)


def test_history_is_counted_whatever_was_dropped_of_it(turns: Turns) -> None:
    revision = 0
    for number in range(20):
        entries = [Entry(turns.wall, f"{number}"), Entry(turns.wall - 25, f"old {number}")]
        revision = amend(turns, changed(revision=revision, entries=entries, keep=7, keep_for=30.0))
        turns.now += 3
        assert turns.db.execute("SELECT noted FROM history").fetchone() == (turns.rows("entry"),)
        assert turns.rows("found") == turns.rows("entry")
    assert noted(turns) == ["19", "18", "17", "16", "15", "14", "13"]


def test_of_what_is_no_longer_kept_nothing_is_left(turns: Turns) -> None:
    revision = 0
    for number in range(20):
        entry = Entry(turns.wall, f"{number}", ("ok", "ok", f"node:{number}"))
        revision = amend(turns, changed(revision=revision, entries=[entry], keep=3))
        turns.execute("note", SPACE, changed("b", entries=[entry], keep=2))
    assert (turns.rows("entry"), turns.rows("found"), turns.rows("history")) == (5, 15, 2)
    assert noted(turns, "ok") == ["19", "19", "18", "18", "17"]
    turns.execute("note", SPACE, changed("b", entries=[Entry(turns.wall - 1, "old")], keep=2, keep_for=0.0))
    assert (turns.rows("entry"), turns.rows("found"), turns.rows("history")) == (3, 9, 1)


def test_histories_that_are_over_go_bit_by_bit_those_first_that_were_over_first(turns: Turns) -> None:
    for number in range(2 * MOST_FORGOTTEN):
        entry = Entry(turns.wall, f"{number}", ("ok",))
        turns.execute("note", SPACE, changed(f"{number}", entries=[entry], keep_for=1_000.0 - number))
    turns.now += 1_000
    kept = []
    for _ in range(3):
        turns.execute("note", SPACE, changed("new", entries=[Entry(turns.wall, "new")], keep=1))
        kept.append(noted(turns, "ok"))
    assert kept == [[f"{number}" for number in reversed(range(MOST_FORGOTTEN))], [], []]
    assert (turns.rows("entry"), turns.rows("found"), turns.rows("history")) == (1, 1, 1)


def test_what_is_over_stays_in_other_namespaces(turns: Turns) -> None:
    turns.execute("note", "another:", changed(entries=[Entry(turns.wall, "noted")], keep_for=1.0))
    turns.now += 10
    turns.execute("note", SPACE, changed(entries=[Entry(turns.wall, "noted")]))
    assert turns.rows("entry") == 2


def test_a_job_made_anew_has_nothing_of_the_one_that_was_thrown_away(turns: Turns) -> None:
    revision = amend(turns, changed(entries=[Entry(turns.wall, "noted")]))
    assert amend(turns, changed(revision=revision, text=None))
    assert (turns.rows("job"), turns.rows("entry")) == (0, 0)
    assert amend(turns, changed())
    assert noted(turns) == []


def test_sheets_and_histories_outlive_a_boot(turns: Turns) -> None:
    revision = amend(turns, changed(acts_at=1.0, entries=[Entry(turns.wall, "noted")]))
    prepare(turns.db, "the next boot", nobody)
    prepare(turns.db, BOOT, nobody)
    assert turns.execute("due", SPACE, 0, 10).sheets == [Sheet("a", revision, "text")]
    assert noted(turns) == ["noted"]
    assert amend(turns, changed(revision=revision))


def test_nothing_is_changed_in_a_file_that_a_newer_dibs_has_taken_over(turns: Turns) -> None:
    turns.db.execute("UPDATE state SET format = format + 1")
    for words in (("amend", SPACE, [changed()]), ("note", SPACE, changed(entries=[Entry(turns.wall, "noted")]))):
        with pytest.raises(Unfit, match="newer dibs"):
            turns.execute(*words)
        turns.db.execute("ROLLBACK")
    assert (turns.rows("job"), turns.rows("entry")) == (0, 0)


def test_nothing_is_changed_in_a_file_that_is_in_use_by_another_clock(turns: Turns) -> None:
    turns.db.execute("UPDATE state SET boot = 'of the container next door'")
    with pytest.raises(Unfit, match="another clock"):
        turns.execute("amend", SPACE, [changed()])
    turns.db.execute("ROLLBACK")


def test_a_life_is_the_file_s_own(tmp_path: Path) -> None:
    def life(file: str) -> str:
        books = Books(SqliteBackend(Location(tmp_path / file)), "blocking", "jobs")
        life = books.due().life
        books.close()
        return life

    assert life("one")
    assert life("one") == life("one") != life("another")


AMENDER = """
import sys
from math import inf
from pathlib import Path
from dibs.model.sheet import Change, Entry
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.testing.contract.books import Books

books, done = Books(SqliteBackend(Location(Path(sys.argv[1]))), "blocking", "jobs"), 0
while done < int(sys.argv[2]):
    look = books.read("a")
    [sheet] = look.sheets
    text = str(int(sheet.text) + 1)
    change = Change("a", sheet.revision, text, None, -inf, inf, entries=[Entry(look.now, text)], keep=10_000)
    [revision] = books.amend(change)
    if revision:
        done += 1
        sys.stdout.write(f"{text} {revision}\\n")
books.close()
"""


def test_of_a_thousand_changes_by_two_processes_none_is_lost(tmp_path: Path) -> None:
    file, each = tmp_path / "locks.sqlite", 500
    books = Books(SqliteBackend(Location(file)), "blocking", "jobs")
    books.keep("a", "0")
    words = [sys.executable, "-c", AMENDER, str(file), str(each)]
    amenders = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [amender.communicate(timeout=120)[0].split("\n")[:-1] for amender in amenders]
    assert [amender.returncode for amender in amenders] == [0, 0]
    steps = sorted((int(text), int(revision)) for lines in told for text, revision in map(str.split, lines))
    assert [text for text, _ in steps] == list(range(1, 2 * each + 1))
    revisions = [revision for _, revision in steps]
    assert revisions == sorted(set(revisions))
    [sheet] = books.read("a").sheets
    assert (sheet.text, sheet.revision) == (str(2 * each), revisions[-1])
    assert len(books.history("a", 10_000)) == 2 * each
    books.close()
