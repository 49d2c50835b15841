"""When a worker is started again, and what it is killed for."""

from __future__ import annotations

import pytest

from dibs.model.restarts import LONGEST_PAUSE, SETTLED_AFTER, TRIES, Life, Past, Patience, is_hopeless, slept

STILLBORN = Life(ready_at=None, ended_at=100.0)
BRIEF = Life(ready_at=100.0, ended_at=100.0 + SETTLED_AFTER / 2)
LONG = Life(ready_at=100.0, ended_at=100.0 + SETTLED_AFTER)


def after(*lives: Life) -> Past:
    past = Past()
    for life in lives:
        past = (past if life.ready_at is None else past.risen()).after(life)
    return past


def test_who_has_lived_for_a_while_is_started_again_at_once() -> None:
    assert after(LONG).pause == 0
    assert after(BRIEF, STILLBORN, LONG).pause == 0


@pytest.mark.parametrize("life", [STILLBORN, BRIEF], ids=["before it was ready", "right after"])
def test_who_dies_at_once_waits_twice_as_long_each_time(life: Life) -> None:
    assert [after(*[life] * times).pause for times in (1, 2, 3, 4)] == [0.1, 0.2, 0.4, 0.8]


def test_no_pause_is_longer_than_the_longest() -> None:
    assert after(*[STILLBORN] * 10).pause == LONGEST_PAUSE
    assert after(*[STILLBORN] * 2000).pause == LONGEST_PAUSE


def test_a_worker_that_is_killed_three_times_in_a_row_is_still_back_within_a_second() -> None:
    assert after(BRIEF, BRIEF, BRIEF).pause < 0.5


def test_people_are_told_when_a_worker_does_not_come_up_and_reminded_now_and_then() -> None:
    told = [times for times in range(3 * TRIES) if after(*[STILLBORN] * times).is_to_be_told]
    assert told == [TRIES, 2 * TRIES]


def test_who_was_ready_has_come_up_however_soon_it_died() -> None:
    assert not after(*[STILLBORN] * (TRIES - 1), BRIEF, STILLBORN).is_to_be_told
    assert not after(*[BRIEF] * TRIES).is_to_be_told


def test_there_is_no_hope_when_none_was_ever_up_and_each_was_tried_often_enough() -> None:
    failed, not_yet = after(*[STILLBORN] * TRIES), after(*[STILLBORN] * (TRIES - 1))
    assert is_hopeless([failed, failed])
    assert not is_hopeless([failed, not_yet])
    assert not is_hopeless([failed, after(LONG)])
    assert not is_hopeless([after(LONG, *[STILLBORN] * TRIES)])


@pytest.mark.parametrize(
    ("ready_at", "heard_at", "now", "what_for"),
    [
        (None, 0.0, 59.9, ""),
        (None, 59.0, 60.0, "not ready after 1m"),
        (1.0, 50.0, 59.9, ""),
        (1.0, 50.0, 60.0, "silent for 10s"),
    ],
    ids=["starts", "never ready, though it beats", "ready", "silent"],
)
def test_what_a_worker_is_killed_for(ready_at: float | None, heard_at: float, now: float, what_for: str) -> None:
    found = Patience().overstep(started_at=0.0, ready_at=ready_at, heard_at=heard_at, now=now)
    assert found == what_for


def test_a_primary_that_was_stopped_itself_calls_nobody_silent() -> None:
    assert slept(1.0, 2.5)
    assert not slept(1.0, 1.5)
