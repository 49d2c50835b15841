"""A sheet that a majority sets: what each server does, and what the answers of several come to."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import inf

import pytest

from dibs.model.register import (
    EMPTY,
    MOST_SIGNS,
    NOBODY,
    Cell,
    Fate,
    Kept,
    Rank,
    accepted,
    changed,
    fate,
    highest,
    is_restorable,
    kept_of,
    next_number,
    promised,
    proposer_of,
    settled,
    standing,
    told_once,
    unnoted,
)
from dibs.model.sheet import Change, Entry, Line, Sheet

ANN, BOB = 1, 2
NOTED = Entry(1.0, "noted", ("a", "b"))


def kept(number: int = 5, *, after: tuple[str, ...] = (), ends_at: float | None = None) -> Kept:
    return Kept(number, Rank(number, ANN), after, f"text {number}", ends_at, ((number, NOTED),))


def cell(number: int = 5, *, is_noted: bool = True) -> Cell:
    rank = Rank(number, ANN)
    return Cell(rank, rank, kept(number), number if is_noted else 0)


def wish(revision: int, *, text: str | None = "new", seen: int = 0, acts_at: float | None = None) -> Change:
    return Change("a", revision, text, acts_at, 10.0, 20.0, seen=seen, entries=[NOTED])


class TestRanks:
    def test_of_two_with_the_same_number_one_is_higher(self) -> None:
        assert Rank(5, ANN) < Rank(5, BOB) < Rank(6, ANN)

    def test_each_channel_is_another_proposer_whose_number_a_double_can_hold(self) -> None:
        assert proposer_of("one") != proposer_of("other")
        assert proposer_of("one") == proposer_of("one") < 2**48

    def test_a_number_is_taken_once_and_is_above_what_beat_us_whatever_the_clock_says(self) -> None:
        assert next_number(now=2.0, last=5, seen=7) == 2_000_000
        assert next_number(now=0.0, last=5, seen=0) == 6
        assert next_number(now=0.0, last=5, seen=7) == 8


class TestOneServer:
    def test_it_heeds_nobody_below_whom_it_has_promised_itself_to(self) -> None:
        mine = promised(EMPTY, Rank(5, BOB), floor=0)
        assert mine == Cell(Rank(5, BOB))
        assert promised(mine, Rank(5, ANN), floor=0) is None
        assert promised(mine, Rank(5, BOB), floor=0) == mine, "the same may ask twice"
        assert promised(mine, Rank(6, ANN), floor=0) == Cell(Rank(6, ANN))

    def test_it_accepts_only_what_it_has_promised_to_accept(self) -> None:
        mine = Cell(Rank(5, BOB))
        for other in (Rank(5, ANN), Rank(6, ANN)):
            assert accepted(mine, other, kept(), floor=0) is None
        assert accepted(mine, Rank(5, BOB), kept(), floor=0) == Cell(Rank(5, BOB), Rank(5, BOB), kept())

    def test_it_heeds_nothing_up_to_its_floor(self) -> None:
        assert promised(EMPTY, Rank(5, BOB), floor=5) is None
        assert accepted(Cell(Rank(5, BOB)), Rank(5, BOB), kept(), floor=5) is None

    def test_what_it_has_noted_it_does_not_note_again(self) -> None:
        two = replace(kept(6), pending=((5, NOTED), (6, replace(NOTED, text="new"))))
        assert [entry.text for entry in unnoted(Cell(kept=two))] == ["noted", "new"]
        assert [entry.text for entry in unnoted(Cell(kept=two, noted=5))] == ["new"]
        assert unnoted(EMPTY) == []


class TestWhatIsSettled:
    def test_what_a_majority_has_accepted_under_one_rank_is(self) -> None:
        assert settled([cell(5), cell(6), cell(5)], 2) == cell(5)
        assert settled([EMPTY, cell(5), EMPTY], 2) == EMPTY

    def test_nothing_is_while_they_differ_or_have_not_noted_what_came_with_it(self) -> None:
        assert settled([cell(5), cell(6), EMPTY], 2) is None
        assert settled([cell(5), cell(5, is_noted=False)], 2) is None
        assert settled([], 2) is None

    def test_the_same_text_under_two_ranks_is_not(self) -> None:
        again = replace(cell(5), rank=Rank(7, BOB))
        assert settled([cell(5), again], 2) is None
        assert highest([cell(5), again, EMPTY]) == again


class TestASheet:
    def test_it_is_there_until_it_ends_or_is_thrown_away(self) -> None:
        assert standing("a", kept(ends_at=9.0), 8.9) == Sheet("a", 5, "text 5")
        assert standing("a", kept(ends_at=9.0), 9.0) is None
        assert standing("a", kept(), 10**9) is not None
        assert standing("a", replace(kept(), text=None), 0.0) is None
        assert standing("a", None, 0.0) is None

    def test_it_is_written_and_read(self) -> None:
        whole = kept(after=("4/2", "3/1"), ends_at=9.5)
        assert kept_of(whole.written()) == whole
        assert kept_of(replace(whole, text=None, ends_at=None).written()).text is None


class TestAChange:
    def test_it_is_made_from_what_it_names_alone(self) -> None:
        new = changed([cell(5), EMPTY], wish(5), need=2, rank=Rank(9, BOB), now=15.0)
        assert new is not None
        assert (new.revision, new.text, new.after) == (9, "new", ("5/1",))
        for other in (0, 4, 6):
            assert changed([cell(5), EMPTY], wish(other), need=2, rank=Rank(9, BOB), now=15.0) is None

    def test_where_there_is_nothing_it_is_made_from_nothing(self) -> None:
        new = changed([EMPTY, EMPTY], wish(0, acts_at=99.0), need=2, rank=Rank(9, BOB), now=15.0)
        assert new is not None
        assert (new.after, new.ends_at, new.pending) == ((), 99.0, ((9, NOTED),))

    @pytest.mark.parametrize("now", [9.9, 20.1])
    def test_it_is_made_in_its_time(self, now: float) -> None:
        assert changed([cell(5)], wish(5), need=1, rank=Rank(9, BOB), now=now) is None

    def test_revisions_rise_above_all_that_is_known(self) -> None:
        def revision(wanted: Change, before: Cell) -> int:
            new = changed([before], wanted, need=1, rank=Rank(9, BOB), now=15.0)
            assert new is not None
            return new.revision

        assert revision(wish(50), cell(50)) == 51
        assert revision(wish(5, seen=70), cell(5)) == 71
        over = replace(cell(50), kept=kept(50, ends_at=1.0))
        assert revision(wish(0), over) == 51, "also where it was over, and is as if it had never been"

    def test_what_nobody_may_have_noted_yet_goes_along(self) -> None:
        before = cell(5, is_noted=False)
        new = changed([before, before], wish(5), need=2, rank=Rank(9, BOB), now=15.0)
        assert new is not None
        assert [revision for revision, _ in new.pending] == [5, 9]

    def test_what_was_thrown_away_is_known_for_as_long_as_it_would_have_been_there(self) -> None:
        before = replace(cell(5), kept=kept(ends_at=99.0))
        new = changed([before], wish(5, text=None), need=1, rank=Rank(9, BOB), now=15.0)
        assert new is not None
        assert (new.text, new.ends_at) == (None, 99.0)


class TestWhatBecameOfIt:
    MINE = kept(5, after=("4/1",))

    def test_it_was_made_if_it_is_there_or_was_made_from(self) -> None:
        assert fate(self.MINE, self.MINE) is Fate.MADE
        assert fate(self.MINE, kept(8, after=("7/1", "5/1", "4/1"))) is Fate.MADE

    def test_it_was_not_if_another_was_made_in_its_place(self) -> None:
        long_ago = tuple(f"{number}/2" for number in range(MOST_SIGNS))
        assert fate(self.MINE, kept(8, after=("7/1", "4/1", *long_ago)[:MOST_SIGNS])) is Fate.UNMADE
        assert fate(self.MINE, kept(8)) is Fate.UNMADE, "nothing is older than this"
        assert fate(kept(5), None) is Fate.UNMADE

    def test_nobody_knows_if_too_many_were_made_since(self) -> None:
        long_since = tuple(f"{number}/2" for number in range(MOST_SIGNS))
        assert fate(self.MINE, kept(99, after=long_since)) is Fate.UNKNOWN
        assert fate(kept(5), kept(99, after=long_since)) is Fate.UNKNOWN


class TestAHistory:
    def test_each_line_is_told_once_in_the_order_that_all_have(self) -> None:
        one, two, three = (Line("a", 1.0, text) for text in "123")
        pages = [[three, one], [three, two], [two, one]]
        for order in permutations(pages):
            assert told_once(order) == [three, two, one]

    def test_what_is_later_comes_first(self) -> None:
        early, late = Line("a", 1.0, "x"), Line("a", 2.0, "x")
        assert told_once([[early], [late, early], []]) == [late, early]

    def test_where_two_do_not_agree_it_is_told_all_the_same(self) -> None:
        one, two = (Line("a", 1.0, text) for text in "12")
        assert sorted(line.text for line in told_once([[one, two], [two, one]])) == ["1", "2"]


@pytest.mark.parametrize(
    ("size", "whole", "bare", "can_be"),
    [
        (3, 2, 1, True),
        (3, 1, 1, False),
        (3, 1, 2, True),
        (3, 0, 3, True),
        (3, 0, 1, False),
        (5, 3, 1, True),
        (5, 3, 2, True),
        (5, 2, 2, False),
        (5, 2, 3, True),
        (4, 2, 1, True),
        (4, 1, 2, False),
    ],
)
def test_a_server_that_forgot_is_told_by_enough_who_did_not_or_where_too_many_did(
    size: int, whole: int, bare: int, can_be: bool
) -> None:
    assert is_restorable(size, whole=whole, bare=bare) is can_be


def test_a_change_without_end_stands_for_ever() -> None:
    assert standing("a", kept(), inf) is not None
    assert highest([EMPTY]).rank == NOBODY
