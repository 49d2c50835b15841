"""What every store must do with the sheets of jobs and their histories, asked without a client in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from dibs.model.sheet import Change, Entry, Look
from dibs.testing.contract.lines import LINES, Ear

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.ports.wire import Backend

TEXT = 'line\n"\u00e9" \\ \0 路径'


class Books:
    """Somebody who keeps the sheets of one namespace."""

    def __init__(self, backend: Backend, colour: str, namespace: str) -> None:
        self._line, self._store = LINES[colour](backend, Ear()), backend.locks(namespace)
        self.close = self._line.close

    def ask(self, command: Command[Any]) -> Any:
        """What the store answers."""
        return command.read(self._line.value(command))

    def due(self, *, skip: int = 0, limit: int = 100) -> Look:
        """What is to be looked at by now."""
        look: Look = self.ask(self._store.due(skip, limit))
        return look

    def names_due(self, *, skip: int = 0, limit: int = 100) -> list[str]:
        """Whose sheets are to be looked at by now."""
        return [sheet.name for sheet in self.due(skip=skip, limit=limit).sheets]

    def read(self, *names: str) -> Look:
        """These sheets."""
        look: Look = self.ask(self._store.sheets(names))
        return look

    def amend(self, *changes: Change) -> Sequence[int]:
        """Change sheets."""
        revisions: Sequence[int] = self.ask(self._store.amend(changes))
        return revisions

    def keep(self, name: str, text: str = "text", **more: Any) -> int:
        """A sheet of this name is there from now on, in place of what was there."""
        found = self.read(name).sheets
        change: dict[str, Any] = {"acts_at": None, "earliest": -inf, "not_after": inf, **more}
        [revision] = self.amend(Change(name, found[0].revision if found else 0, text, **change))
        assert revision
        return revision

    def history(self, name: str, limit: int = 100) -> Sequence[str]:
        """What was noted."""
        texts: Sequence[str] = self.ask(self._store.history(name, limit))
        return texts


class SheetContract:
    """Sheets that are changed only by somebody who has read them as they stand."""

    @pytest.fixture(params=["blocking", "asyncio"])
    def books(self, backend: Backend, request: pytest.FixtureRequest) -> Iterator[Books]:
        """Both colours."""
        books = Books(backend, request.param, "jobs")
        yield books
        books.close()

    def test_of_a_job_that_nobody_knows_there_is_no_sheet(self, books: Books) -> None:
        assert books.read("a", "b").sheets == []
        assert books.due().sheets == []
        assert books.due().next_at is None
        assert books.history("a") == []

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
        [done] = books.amend(Change("a", revision, None, None, -inf, inf))
        assert done > revision
        assert (books.read("a").sheets, books.names_due(), books.history("a")) == ([], [], [])
        assert books.keep("a") > done

    def test_what_is_noted_is_listed_the_latest_first(self, books: Books) -> None:
        now = books.due().now
        books.keep("a", entries=[Entry(now - 3, "c"), Entry(now - 5, "a")])
        books.keep("a", entries=[Entry(now - 4, "b"), Entry(now - 1, TEXT)])
        assert books.history("a") == [TEXT, "c", "b", "a"]
        assert books.history("a", 2) == [TEXT, "c"]

    def test_of_the_same_time_what_was_noted_last_is_the_latest(self, books: Books) -> None:
        now = books.due().now
        books.keep("a", entries=[Entry(now, "z"), Entry(now, "b")])
        books.keep("a", entries=[Entry(now, "a"), Entry(now, "a")])
        assert books.history("a") == ["a", "a", "b", "z"]

    def test_of_the_history_only_the_latest_are_kept(self, books: Books) -> None:
        now = books.due().now
        books.keep("a", entries=[Entry(now - 10 + number, str(number)) for number in range(10)], keep=3)
        assert books.history("a") == ["9", "8", "7"]
        books.keep("a", entries=[Entry(now, "10")], keep=3)
        assert books.history("a") == ["10", "9", "8"]

    def test_what_is_too_old_is_dropped_when_something_is_noted(self, books: Books) -> None:
        now = books.due().now
        books.keep("a", entries=[Entry(now - 100, "old"), Entry(now - 1, "new")])
        books.keep("a", entries=[Entry(now, "newest")], keep_for=50.0)
        assert books.history("a") == ["newest", "new"]

    def test_namespaces_do_not_see_each_other_s_jobs(self, backend: Backend, books: Books) -> None:
        others = Books(backend, "blocking", "others")
        books.keep("a", "mine", acts_at=1.0, entries=[Entry(books.due().now, "noted")])
        assert (others.read("a").sheets, others.names_due(), others.history("a")) == ([], [], [])
        others.keep("a", "theirs")
        assert [sheet.text for sheet in books.read("a").sheets] == ["mine"]
        others.close()

    def test_as_long_as_it_lives_a_store_says_the_same_life(self, books: Books) -> None:
        books.keep("b")
        life = books.due().life
        books.keep("a")
        assert books.due().life == books.read("a").life == life
