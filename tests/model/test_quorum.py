"""What the answers of several servers come to."""

from __future__ import annotations

import pytest

from dibs.model.asks import CROWD, Busy, Held, KeepAnswer, LeaveAnswer, Queued, Recalled, Said, StillQueued
from dibs.model.quorum import (
    HEADROOM,
    LONGEST_JITTER,
    MOST_HEADROOM,
    Christening,
    Register,
    Standing,
    busy,
    christening,
    headroom,
    is_settled,
    is_split,
    jitter,
    kept,
    leapt,
    left,
    likeliest,
    majority,
    needed,
    newest,
    proposal,
    queued,
    seen_by_most,
    standing,
)
from dibs.model.request import TTL
from dibs.model.views import LockView, Waiter


def by(fence: int) -> Held:
    return Held(f"holder {fence}", "", 0.0, 30.0, 20.0, fence)


def behind(fence: int, *, again: float = 1.0, position: int = 0) -> Queued:
    return Queued(position, again, by(fence))


@pytest.mark.parametrize(("size", "need"), [(3, 2), (4, 3), (5, 3), (7, 4)])
def test_two_majorities_share_a_server(size: int, need: int) -> None:
    assert majority(size) == need
    assert 2 * need > size


@pytest.mark.parametrize(
    ("size", "room", "need"),
    [(3, 1, 2), (5, 1, 3), (3, 2, 3), (5, 2, 4), (5, 3, 4), (5, 4, 5), (5, 99, 5), (5, CROWD, 3), (7, 2, 5)],
)
def test_of_more_than_allowed_all_would_meet_on_one_server(size: int, room: int, need: int) -> None:
    assert needed(size, room) == need
    assert room == CROWD or (room + 1) * need > room * size


@pytest.mark.parametrize(
    ("yes", "no", "out", "expected"),
    [
        (3, 0, 2, Standing.ELECTED),
        (2, 0, 3, None),
        (2, 1, 2, None),
        (2, 3, 0, Standing.BEATEN),
        (0, 3, 2, Standing.BEATEN),
        (1, 1, 1, None),  # of the others two are silent: who is out may tell that somebody else has it
        (1, 1, 0, Standing.UNKNOWN),
        (2, 0, 0, Standing.UNKNOWN),
        (0, 0, 0, Standing.UNKNOWN),
    ],
)
def test_faults_are_no_refusals(yes: int, no: int, out: int, expected: Standing | None) -> None:
    assert standing(3, yes=yes, no=no, out=out) is expected


def test_a_fence_is_proposed_above_every_clock_and_all_that_was_seen() -> None:
    assert proposal(latest_clock=5.0, headroom=HEADROOM, seen=1, last=2) > 5_000_000
    assert proposal(latest_clock=5.0, headroom=HEADROOM, seen=9_000_000, last=2) == 9_000_000
    assert proposal(latest_clock=5.0, headroom=HEADROOM, seen=1, last=8_000_000) == 8_000_000


def test_a_fence_is_proposed_further_ahead_when_clocks_were_faster_and_less_far_in_time() -> None:
    further = headroom(HEADROOM, floor=1_000_000, fence=1_050_001)
    assert further == pytest.approx(HEADROOM + 0.1)
    assert headroom(further, floor=1_000_000, fence=9_000_000_000) == MOST_HEADROOM
    assert HEADROOM < headroom(further, floor=1_000_000, fence=1_000_001) < further
    assert headroom(HEADROOM, floor=1_000_000, fence=1_000_001) == HEADROOM


def test_a_fence_is_settled_when_a_majority_counts_from_it() -> None:
    assert is_settled([7, 7, 7, 6, 5], 7, 3)
    assert not is_settled([7, 7, 6], 7, 3)
    assert leapt([7, 9, 8]) > 9


def test_who_were_split_do_not_meet_again_at_the_same_moment() -> None:
    assert len({jitter(0, owner) for owner in "abcdefgh"}) == 8
    assert all(0 < jitter(tries, "a") <= LONGEST_JITTER for tries in range(40))


def test_the_holder_is_whom_most_name() -> None:
    assert likeliest([behind(1), behind(2), behind(2)]) == (by(2), 2)
    assert likeliest([behind(1), behind(2)]) == (by(2), 1)


def test_a_vote_is_split_if_nobody_can_have_a_majority() -> None:
    assert is_split([behind(1), behind(1), behind(2)], size=5, yes=2)
    assert not is_split([behind(1), behind(1), behind(1)], size=5, yes=2)
    assert not is_split([behind(1), behind(1)], size=5, yes=2)  # one was silent, and may be with them


def test_who_waits_asks_again_when_enough_servers_may_be_free() -> None:
    refusals = [behind(1, again=3.0, position=2), behind(1, again=1.0, position=1), behind(1, again=2.0)]
    assert queued(refusals, need=3, yes=2, again_in=None) == Queued(0, 1.0, by(1))
    assert queued(refusals, need=3, yes=0, again_in=None).ask_again_in == 3.0
    assert queued(refusals, need=3, yes=0, again_in=0.5).ask_again_in == 0.5
    assert queued([Busy(by(1), 3)], need=2, yes=0, again_in=None) == Queued(0, 0.0, by(1))
    assert busy([Busy(by(1), 3), behind(1, position=4)]) == Busy(by(1), 4)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([Said.KEPT, Said.KEPT], Said.KEPT),
        ([Said.KEPT, Said.GONE], None),
        ([Said.GONE, Said.GONE], Said.GONE),
        ([Said.KEPT, Said.GONE, Said.GONE], Said.GONE),
        ([StillQueued(2.0), StillQueued(1.0)], StillQueued(1.0)),
        ([StillQueued(2.0), Said.GONE], None),
        ([StillQueued(2.0), Said.GONE, Said.GONE], Said.GONE),
    ],
)
def test_a_lease_is_kept_if_a_majority_keeps_it(answers: list[KeepAnswer], expected: KeepAnswer | None) -> None:
    assert kept(answers, size=3, need=2) == expected


@pytest.mark.parametrize(
    ("answers", "out", "expected"),
    [
        ([Said.RELEASED, Said.RELEASED], 1, Said.RELEASED),
        ([Said.RELEASED, Said.GONE], 1, None),
        ([Said.RELEASED], 0, None),
        ([Said.RELEASED, Said.GONE], 0, Said.LEFT),
        ([Said.GONE, Said.GONE], 1, Said.GONE),
        ([Said.LEFT, Said.GONE], 0, Said.LEFT),
    ],
)
def test_a_lock_is_released_if_a_majority_released_it(
    answers: list[LeaveAnswer], out: int, expected: LeaveAnswer | None
) -> None:
    assert left(answers, size=3, out=out) == expected


def test_what_is_remembered_by_any_of_a_majority_counts_and_the_newest_of_it() -> None:
    assert newest([Recalled(1.0), Recalled(2.0, "old", 1.0), Recalled(2.0, "new", 1.5)], 9.0) == Recalled(
        9.0, "new", 1.5
    )
    assert newest([Recalled(1.0)], 9.0) == Recalled(9.0)


def test_a_lock_is_held_by_whom_a_majority_knows() -> None:
    crowded = LockView("a", 0.0, (by(2), by(1)), (Waiter("w", "", 0.0),))
    views = [crowded, LockView("a", 0.0, (by(2),)), LockView("a", 0.0)]
    seen = seen_by_most("a", views, size=3, at=5.0)
    assert (seen.holders, seen.waiters, seen.seen_at) == ((by(2),), crowded.waiters, 5.0)
    assert seen_by_most("a", views[:1], size=3, at=5.0).holders == (by(1), by(2))  # the silent ones may know them, too
    assert seen_by_most("a", [], size=3, at=5.0) == LockView("a", 5.0)


BLANK = Register(0, 0.0, is_born=False)


def test_servers_that_are_all_new_count_at_once() -> None:
    assert christening([BLANK, BLANK, BLANK]) == Christening(0, 0.0, 0.0)


def test_a_server_that_forgot_is_silent_for_the_longest_ttl_and_learns_the_highest_fence() -> None:
    registers = [BLANK, Register(7, 30.0, is_born=True), Register(9, 60.0, is_born=True)]
    assert christening(registers) == Christening(9, 60.0, 60.0)


def test_where_too_few_can_tell_how_long_that_is_it_is_no_shorter_than_the_usual() -> None:
    registers = [BLANK, BLANK, None]
    assert christening(registers) == Christening(0, TTL, TTL)
    assert christening([BLANK, Register(3, 5.0, is_born=True), None]) == Christening(3, TTL, TTL)


def test_too_few_servers_make_nobody_count() -> None:
    assert christening([BLANK, None, None]) is None
