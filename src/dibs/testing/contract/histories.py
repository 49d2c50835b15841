"""What every store must do with what is noted: of jobs, and of whatever else has a history."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from dibs.model.sheet import MOST_FORGOTTEN, Change, Entry, Line
from dibs.testing.contract.books import BookKeeping, Books

if TYPE_CHECKING:
    from dibs.ports.wire import Backend

TEXT = 'line\n"\u00e9" \\ \0 \u8def\u5f84'
A_MOMENT = 0.2


class HistoryContract(BookKeeping):
    """Histories, each of them by its name, and all of them by tags."""

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

    def test_what_is_noted_is_found_by_its_name_and_by_each_of_its_tags(self, books: Books) -> None:
        now = round(books.due().now) - 10.0
        books.keep("a", entries=[Entry(now, TEXT, ("ok", "node:1")), Entry(now + 2, "2")])
        books.keep("b", entries=[Entry(now + 1, "1", ("ok", "ok", "node:2", "b"))])
        assert books.lines("ok") == [Line("b", now + 1, "1"), Line("a", now, TEXT)]
        assert books.lines("node:1") == [Line("a", now, TEXT)]
        assert books.lines("a") == [Line("a", now + 2, "2"), Line("a", now, TEXT)]
        assert books.lines("b") == [Line("b", now + 1, "1")]
        assert (books.lines("node:"), books.lines("o")) == ([], [])

    def test_of_the_same_time_what_was_noted_last_is_the_latest_of_a_tag_too(self, books: Books) -> None:
        now = books.due().now
        for number, name in enumerate("bacab"):
            books.keep(name, entries=[Entry(now, f"{number}", ("ok",)), Entry(now, f"{number}+", ("ok",))])
        books.note("b", Entry(now, "5", ("ok",)))
        assert books.history("ok") == ["5", "4+", "4", "3+", "3", "2+", "2", "1+", "1", "0+", "0"]

    def test_lines_are_told_by_their_time_and_by_pages(self, books: Books) -> None:
        now = round(books.due().now) - 100.0
        for number in range(10):
            books.note("ab"[number % 2], Entry(now + number, f"{number}", ("ok",)))
        assert books.history("ok", since=now + 3, until=now + 5) == ["5", "4", "3"]
        assert books.history("a", since=now + 3) == ["8", "6", "4"]
        assert books.history("ok", until=now + 1) == ["1", "0"]
        assert books.history("ok", since=now + 3.5, until=now + 3.9) == []
        assert books.history("ok", since=-inf, until=inf, limit=3) == ["9", "8", "7"]
        assert books.history("ok", until=now + 6, skip=2, limit=3) == ["4", "3", "2"]
        assert books.history("ok", skip=8) == ["1", "0"]
        assert (books.history("ok", skip=10), books.history("ok", 0)) == ([], [])

    def test_who_asks_up_to_the_time_of_a_line_is_told_that_line(self, books: Books) -> None:
        moment = books.due().now - 1 / 3
        books.note("a", Entry(moment, "a"), Entry(moment + 0.1, "b"))
        [line] = books.lines("a", skip=1)
        assert abs(line.at - moment) < 0.000_001
        assert books.lines("a", since=line.at, until=line.at) == [line]

    def test_what_is_no_longer_kept_is_gone_from_its_tags(self, books: Books) -> None:
        now = books.due().now
        for number in range(5):
            books.keep("a", entries=[Entry(now - 9 + number, f"{number}", ("ok", f"n:{number}"))], keep=2)
        books.note("b", Entry(now - 20, "b", ("ok",)), keep=1)
        assert books.history("ok") == ["4", "3", "b"]
        assert [books.history(f"n:{number}") for number in range(5)] == [[], [], [], ["3"], ["4"]]
        books.keep("a", entries=[Entry(now, "5", ("ok",))], keep_for=5.5)
        assert books.history("ok") == ["5", "4", "b"]
        assert books.history("n:3") == []

    def test_with_a_sheet_its_history_goes_from_its_tags(self, books: Books) -> None:
        now = books.due().now
        for name in "ab":
            books.keep(name, entries=[Entry(now, f"{name}{number}", ("ok", name * 2)) for number in range(3)])
        books.throw_away("a")
        assert books.history("ok") == ["b2", "b1", "b0"]
        assert (books.history("a"), books.history("aa")) == ([], [])

    def test_a_tag_may_be_the_name_of_another_history_and_neither_is_pruned_with_the_other(self, books: Books) -> None:
        now = round(books.due().now) - 100.0
        books.note("a", *[Entry(now + number, f"a{number}") for number in range(3)])
        books.note("more", *[Entry(now + number, f"m{number}", ("a",)) for number in range(3)])
        assert books.history("a") == ["m2", "a2", "m1", "a1", "m0", "a0"]
        assert books.lines("a", skip=1, limit=2) == [Line("a", now + 2, "a2"), Line("more", now + 1, "m1")]
        assert books.history("a", since=now + 1, until=now + 1) == ["m1", "a1"]
        books.keep("a", entries=[Entry(now + 3, "a3")], keep=2)
        assert books.history("a") == ["a3", "m2", "a2", "m1", "m0"]
        books.note("more", Entry(now + 4, "m4"), keep=2)
        assert books.history("a") == ["a3", "m2", "a2"]
        books.throw_away("a")
        assert (books.history("a"), books.history("more")) == (["m2"], ["m4", "m2"])

    def test_something_is_noted_without_a_sheet(self, books: Books) -> None:
        now = books.due().now
        books.note("audit", Entry(now - 2, "first", ("who:ann",)), Entry(now - 1, "second"))
        books.note("audit", Entry(now, "third", ("who:ann",)), keep=2)
        books.note("audit")
        assert books.history("audit") == ["third", "second"]
        assert books.history("who:ann") == ["third"]
        assert (books.read("audit").sheets, books.named(), books.due().next_at) == ([], [], None)

    def test_of_a_change_that_is_refused_nothing_is_noted(self, books: Books) -> None:
        books.keep("a")
        late = Change("a", 0, "late", None, -inf, inf, entries=[Entry(books.due().now, "late", ("ok",))])
        assert books.amend(late) == [0]
        assert (books.history("a"), books.history("ok")) == ([], [])

    def test_what_is_too_old_when_it_is_noted_is_not_kept(self, books: Books) -> None:
        books.note("a", Entry(books.due().now - 100, "old", ("ok",)), keep_for=50.0)
        assert (books.history("a"), books.history("ok")) == ([], [])

    def test_a_history_that_nothing_is_added_to_is_over_when_something_else_is_noted(self, books: Books) -> None:
        now = books.due().now
        books.keep("a", entries=[Entry(now + number, f"{number}", ("ok",)) for number in range(3)], keep_for=A_MOMENT)
        books.note("b", Entry(now, "b", ("ok",)))
        assert books.history("ok") == ["2", "1", "b", "0"]
        self._wait(books, now + 2 * A_MOMENT)
        assert books.history("b") == ["b"]
        books.note("c", Entry(now + 1, "c", ("ok",)))
        assert books.history("ok") == ["c", "b"]
        assert (books.history("a"), books.named()) == ([], ["a"])

    def test_what_is_over_goes_bit_by_bit_what_was_over_first_before_the_rest(self, books: Books) -> None:
        now, more = books.due().now, 20
        old = [Entry(now + number / 1_000, f"{number}", ("ok",)) for number in range(MOST_FORGOTTEN + more)]
        books.note("a", *old, keep_for=A_MOMENT)
        books.note("b", Entry(now, "b", ("ok",)), keep_for=1.5 * A_MOMENT)
        self._wait(books, now + 2 * A_MOMENT)
        books.note("c", Entry(now, "c"))
        assert books.history("a", 1_000) == [entry.text for entry in old[: -more - 1 : -1]]
        assert books.history("ok", 1_000) == [*books.history("a", 1_000), "b"]
        books.note("c", Entry(now, "c"))
        assert (books.history("a"), books.history("ok")) == ([], [])

    def test_who_adds_to_a_history_prolongs_it(self, books: Books) -> None:
        now = books.due().now
        books.note("a", Entry(now + 60, "first"), keep_for=A_MOMENT)
        books.note("a", Entry(now + 60, "second"), keep_for=60.0)
        self._wait(books, now + 2 * A_MOMENT)
        books.note("b", Entry(now, "b"))
        assert books.history("a") == ["second", "first"]

    def test_namespaces_do_not_see_each_other_s_histories(self, backend: Backend, books: Books) -> None:
        others = Books(backend, "blocking", "others")
        now = books.due().now
        books.note("a", Entry(now, "mine", ("ok",)))
        others.note("a", Entry(now, "theirs", ("ok",)), keep=1)
        assert (books.history("ok"), others.history("ok")) == (["mine"], ["theirs"])
        others.close()

    def _wait(self, books: Books, moment: float) -> None:
        """Until the store's clock says so."""
        while books.due().now <= moment:
            pass
