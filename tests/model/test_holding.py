"""What is kept of who held a lock: how it is noted, found again, and put together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dibs.model.holding import ALL, Holding, granted_at, latest, moments_of, readable, tag_of
from dibs.model.sheet import Line
from dibs.model.spans import covering, filed

NOW = 1_800_000_000.0
DONE = Holding("billing", "web-3:812", 7, NOW, NOW + 60)
STILL = replace(DONE, until=NOW + 20, ended="held", reaches=NOW + 90)


def read(text: str) -> list[Holding]:
    return list(readable([Line("~locks", NOW, text)]))


class TestNotes:
    @pytest.mark.parametrize(
        "holding",
        [
            DONE,
            STILL,
            replace(DONE, ended="lost", reason="its time ran out", purpose="nächtlicher Lauf"),
            replace(DONE, times=37_421, fence=0),
        ],
    )
    def test_what_is_noted_is_read_again(self, holding: Holding) -> None:
        assert read(holding.entry().text) == [holding]

    def test_a_note_is_short(self) -> None:
        assert len(DONE.entry().text) < 100

    def test_it_is_found_by_its_lock_and_by_the_moments_it_covers(self) -> None:
        entry = DONE.entry()
        assert (entry.at, entry.tags[0]) == (NOW + 60, tag_of("billing"))
        assert entry.tags[1:] == (filed(ALL, NOW, NOW + 60), filed(moments_of("billing"), NOW, NOW + 60))

    def test_while_it_lasts_it_is_found_by_all_the_moments_that_it_may_cover(self) -> None:
        entry = STILL.entry()
        found = [question for question in covering(ALL, NOW + 80) if question.tag in entry.tags]
        assert [question.since <= entry.at <= question.until for question in found] == [True]
        assert STILL.covers(NOW + 90)
        assert not STILL.covers(NOW + 91)

    @pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"name":"a"}', '{"ended":"eaten"}'])
    def test_what_is_not_ours_is_passed_over(self, text: str) -> None:
        assert read(text) == []

    def test_an_end_that_only_a_newer_version_knows_is_passed_over(self) -> None:
        assert read(DONE.entry().text[:-1] + ',"ended":"teleported"}') == []
        assert read(DONE.entry().text[:-1] + ',"colour":"red"}') == [DONE]


class TestWhenItWasGranted:
    def test_the_fence_says_it(self) -> None:
        fence = int((NOW + 3.25) * 1_000_000)
        assert granted_at(fence, earliest=NOW, latest=NOW + 10) == NOW + 3.25

    @pytest.mark.parametrize("told", [NOW - 60, NOW + 11, 5e-6])
    def test_unless_it_does_not_follow_the_clock(self, told: float) -> None:
        assert granted_at(int(told * 1_000_000), earliest=NOW, latest=NOW + 10) == NOW

    def test_two_clocks_may_differ_a_little(self) -> None:
        assert granted_at(int((NOW - 0.125) * 1_000_000), earliest=NOW, latest=NOW) == NOW - 0.125


class TestWhatWasToldLast:
    def test_the_end_supersedes_what_was_told_before(self) -> None:
        assert latest([STILL, DONE], ()) == latest([DONE, STILL], ()) == [DONE]

    def test_of_two_words_that_it_lasts_the_later_counts(self) -> None:
        later = replace(STILL, until=NOW + 40)
        assert latest([later, STILL], ()) == latest([STILL, later], ()) == [replace(later, ended="unknown")]

    def test_one_that_the_store_knows_is_held_until_now(self) -> None:
        held = replace(DONE, until=NOW + 500, ended="held")
        assert latest([STILL], [held]) == [held]

    def test_one_that_nobody_has_noted_yet_is_held(self) -> None:
        held = replace(DONE, until=NOW + 5, ended="held")
        assert latest([], [held]) == [held]

    def test_one_who_has_let_go_is_believed_before_the_store(self) -> None:
        lost = replace(DONE, ended="lost")
        assert latest([lost], [replace(DONE, ended="held")]) == [lost]

    def test_each_who_had_it_in_turn_is_told(self) -> None:
        handed = replace(DONE, ended="handed on")
        taken_up = replace(STILL, who="web-4:9", since=NOW + 60)
        in_store = replace(DONE, until=NOW + 200, ended="held")
        assert latest([handed, taken_up], [in_store]) == [replace(taken_up, until=NOW + 200, reaches=0.0), handed]
        assert latest([handed], [in_store]) == [handed, in_store]

    @pytest.mark.parametrize("times", [1, 5])
    def test_holds_that_were_counted_are_told_apart_by_their_time(self, times: int) -> None:
        some, more = replace(DONE, fence=0, times=times), replace(DONE, fence=0, times=times, since=NOW + 1)
        assert latest([some, more, some], ()) == [some, more]
