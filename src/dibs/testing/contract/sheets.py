"""What every store must do with the sheets of jobs and their histories, asked without a client in between."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import pytest

from dibs.model.sheet import Change, Entry
from dibs.testing.contract.books import Books
from dibs.testing.contract.histories import TEXT, HistoryContract

if TYPE_CHECKING:
    from dibs.ports.wire import Backend


class SheetContract(HistoryContract):
    """Sheets that are changed only by somebody who has read them as they stand."""

    def test_of_a_job_that_nobody_knows_there_is_no_sheet(self, books: Books) -> None:
        assert books.read("a", "b").sheets == []
        assert books.due().sheets == []
        assert books.due().next_at is None
        assert (books.named(), books.history("a")) == ([], [])

    def test_a_sheet_is_kept_as_it_is_under_the_revision_that_was_answered(self, books: Books) -> None:
        revision = books.keep("a", TEXT)
        [sheet] = books.read("b", "a").sheets
        assert (sheet.name, sheet.revision, sheet.text) == ("a", revision, TEXT)

    def test_a_change_of_what_was_changed_since_is_refused_and_does_nothing(self, books: Books) -> None:
        first = books.keep("a", "first", acts_at=1.0)
        second = books.keep("a", "second", entries=[Entry(books.due().now, "noted")])
        late = Change("a", first, "late", 1.0, -inf, inf, entries=[Entry(books.due().now, "late")])
        assert books.amend(late) == [0]
        assert [(sheet.revision, sheet.text) for sheet in books.read("a").sheets] == [(second, "second")]
        assert books.names_due() == []
        assert books.history("a") == ["noted"]

    def test_a_new_sheet_is_refused_where_there_is_one_and_a_change_where_there_is_none(self, books: Books) -> None:
        revision = books.keep("a")
        assert books.amend(Change("a", 0, "new", None, -inf, inf)) == [0]
        assert books.amend(Change("b", revision, "changed", None, -inf, inf)) == [0]
        assert [sheet.text for sheet in books.read("a", "b").sheets] == ["text"]

    def test_revisions_rise_above_all_that_the_asker_has_seen(self, books: Books) -> None:
        first, second = books.keep("a"), books.keep("b")
        far = books.keep("a", seen=second + 10_000_000_000)
        assert first < second < far == second + 10_000_000_001
        assert books.keep("c") > far

    def test_each_change_is_made_for_itself(self, books: Books) -> None:
        revision = books.keep("a")
        changes = [
            Change("a", revision, "one", None, -inf, inf),
            Change("a", revision, "two", None, -inf, inf),
            Change("b", 0, "three", None, -inf, inf),
        ]
        one, two, three = books.amend(*changes)
        assert (two, one > revision, three > one) == (0, True, True)
        assert [sheet.text for sheet in books.read("a", "b").sheets] == ["one", "three"]

    def test_a_change_is_made_only_in_its_time_by_the_store_s_clock(self, books: Books) -> None:
        now = books.due().now
        assert books.amend(Change("a", 0, "early", None, now + 60, inf)) == [0]
        assert books.amend(Change("a", 0, "late", None, -inf, now - 60)) == [0]
        [revision] = books.amend(Change("a", 0, "in time", None, now, now + 60))
        assert revision

    def test_what_is_due_is_found_in_the_order_of_its_time_and_by_pages(self, books: Books) -> None:
        now = books.due().now
        for name, ago in {"a": 10, "b": 30, "c": 20, "later": -60, "sooner": -30}.items():
            books.keep(name, acts_at=now - ago)
        books.keep("never")
        assert books.names_due() == ["b", "c", "a"]
        assert books.names_due(limit=2) == ["b", "c"]
        assert books.names_due(skip=2, limit=2) == ["a"]
        look = books.due()
        assert look.next_at == pytest.approx(now + 30, abs=0.001)
        assert look.now >= now
        assert [sheet.text for sheet in look.sheets] == ["text"] * 3

    def test_what_will_be_due_by_another_moment_is_found_likewise(self, books: Books) -> None:
        now = books.due().now
        for name, later in {"a": 10, "b": 30, "c": 20, "past": -5}.items():
            books.keep(name, acts_at=now + later)
        books.keep("never")
        assert books.names_due(by=now + 25) == ["past", "a", "c"]
        assert books.names_due(by=now + 25, skip=1, limit=1) == ["a"]
        look = books.due(by=now + 25)
        assert look.next_at == pytest.approx(now + 30, abs=0.001)
        assert now <= look.now < now + 10
        assert books.names_due(by=now - 10) == []
        assert books.due(by=now - 10).next_at == pytest.approx(now - 5, abs=0.001)
        assert books.names_due(by=inf) == ["past", "a", "c", "b"]
        assert books.due(by=inf).next_at is None

    def test_what_was_due_at_that_very_moment_is_among_them(self, books: Books) -> None:
        moment = round(books.due().now) + 60.0
        books.keep("a", acts_at=moment)
        assert books.names_due(by=moment) == ["a"]
        assert books.due(by=moment - 1).next_at == moment

    def test_sheets_are_listed_by_name_and_by_pages(self, books: Books) -> None:
        for name in ("b", "a:2", "a:10", "a", "\u8def", "\U0001f512", "A"):
            books.keep(name)
        assert books.named() == ["A", "a", "a:10", "a:2", "b", "\u8def", "\U0001f512"]
        assert books.named(limit=2) == ["A", "a"]
        assert books.named(after="a", limit=2) == ["a:10", "a:2"]
        assert books.named(after="a:1") == ["a:10", "a:2", "b", "\u8def", "\U0001f512"]
        assert books.named(after="\U0001f512") == []
        assert books.named(limit=0) == []

    def test_a_page_of_names_says_what_is_on_the_sheets(self, books: Books) -> None:
        books.keep("a", TEXT)
        look = books.look_at_named()
        assert [(sheet.name, sheet.text) for sheet in look.sheets] == [("a", TEXT)]
        assert (look.sheets, look.life, look.next_at) == (books.read("a").sheets, books.due().life, None)

    def test_sheets_are_listed_by_how_their_names_begin(self, books: Books) -> None:
        highest = "\U0010ffff"
        for name in ("job", "job:", "job:a", f"job:{highest}", f"job:{highest}a", "job;", "jo", "k"):
            books.keep(name)
        assert books.named("job:") == ["job:", "job:a", f"job:{highest}", f"job:{highest}a"]
        assert books.named(f"job:{highest}") == [f"job:{highest}", f"job:{highest}a"]
        assert books.named("job:", after="job:") == ["job:a", f"job:{highest}", f"job:{highest}a"]
        assert books.named("job:", after="job:a", limit=1) == [f"job:{highest}"]
        assert books.named("job:", after="a") == books.named("job:")
        assert books.named("job:", after="k") == []
        assert books.named("none") == []

    def test_a_name_is_listed_for_as_long_as_there_is_a_sheet(self, books: Books) -> None:
        revision = books.keep("a")
        books.keep("a", "changed")
        books.keep("b")
        assert books.named() == ["a", "b"]
        books.throw_away("a")
        assert books.named() == ["b"]
        books.throw_away("b")
        assert books.named() == []
        assert books.keep("a") > revision
        assert books.named() == ["a"]

    def test_a_change_is_refused_while_another_sheet_is_due(self, books: Books) -> None:
        books.keep("frozen", acts_at=books.due().now - 1)
        change = Change("a", 0, "text", 1.0, -inf, inf, unless_due="frozen", entries=[Entry(books.due().now, "noted")])
        assert books.amend(change) == [0]
        assert (books.named(), books.history("a")) == (["frozen"], [])
        books.keep("frozen", acts_at=books.due().now + 60)
        assert all(books.amend(change))
        books.keep("frozen", acts_at=books.due().now)
        [sheet] = books.read("a").sheets
        assert books.amend(replace(change, revision=sheet.revision, text=None)) == [0]
        books.keep("frozen", acts_at=None)
        assert all(books.amend(replace(change, revision=sheet.revision)))
        books.throw_away("frozen")
        assert all(books.amend(replace(change, name="b")))

    def test_what_changes_that_sheet_holds_for_those_that_follow_it(self, books: Books) -> None:
        freeze = Change("frozen", 0, "text", books.due().now, -inf, inf)
        changes = [Change(name, 0, "text", None, -inf, inf, unless_due="frozen") for name in "ab"]
        before, _, after = books.amend(changes[0], freeze, changes[1])
        assert (bool(before), after) == (True, 0)

    def test_when_it_is_due_changes_with_the_sheet(self, books: Books) -> None:
        now = books.due().now
        books.keep("a", acts_at=now - 10)
        books.keep("a", acts_at=now + 60)
        assert books.names_due() == []
        books.keep("a", acts_at=now - 5)
        assert books.names_due() == ["a"]
        books.keep("a", acts_at=None)
        assert (books.names_due(), books.due().next_at) == ([], None)

    def test_a_sheet_that_is_thrown_away_leaves_nothing_behind(self, books: Books) -> None:
        revision = books.keep("a", acts_at=1.0, entries=[Entry(books.due().now, "noted")])
        done = books.throw_away("a")
        assert done > revision
        assert (books.read("a").sheets, books.names_due(), books.named(), books.history("a")) == ([], [], [], [])
        assert books.keep("a") > done

    def test_namespaces_do_not_see_each_other_s_jobs(self, backend: Backend, books: Books) -> None:
        others = Books(backend, "blocking", "others")
        books.keep("a", "mine", acts_at=1.0, entries=[Entry(books.due().now, "noted")])
        assert (others.read("a").sheets, others.names_due(), others.named(), others.history("a")) == ([], [], [], [])
        others.keep("a", "theirs")
        assert [sheet.text for sheet in books.read("a").sheets] == ["mine"]
        others.close()

    def test_as_long_as_it_lives_a_store_says_the_same_life(self, books: Books) -> None:
        books.keep("b")
        life = books.due().life
        books.keep("a")
        assert books.due().life == books.read("a").life == life
