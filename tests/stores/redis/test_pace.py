"""How long a line waits before it tries again to connect."""

from __future__ import annotations

from dibs.model.backoff import FIRST, LONGEST_PAUSE
from dibs.stores.redis.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


def test_the_first_try_is_made_at_once() -> None:
    for interval in (None, 5.0):
        assert Pace(interval, "a", Clock().now).pause(0) == 0.0


def test_where_nothing_was_said_the_pauses_grow_and_the_next_who_asks_begins_anew() -> None:
    pace = Pace(None, "a", Clock().now)
    pauses = [pace.pause(tries) for tries in range(1, 12)]
    pace.trying()
    assert FIRST / 2 <= pauses[0] <= FIRST < pauses[4] < pauses[-1]
    assert LONGEST_PAUSE / 2 <= pauses[-1] <= LONGEST_PAUSE
    assert pace.pause(0) == 0.0


def test_an_interval_is_kept_from_try_to_try_whoever_asks_for_the_next() -> None:
    clock = Clock()
    pace = Pace(5.0, "a", clock.now)
    pace.trying()
    assert [pace.pause(tries) for tries in (0, 1, 9)] == [5.0] * 3
    clock.time += 3.0
    assert [pace.pause(tries) for tries in (0, 1, 9)] == [2.0] * 3


def test_a_connection_that_was_open_for_long_is_made_anew_at_once() -> None:
    clock = Clock()
    pace = Pace(5.0, "a", clock.now)
    pace.trying()
    clock.time += 60.0
    assert pace.pause(1) == 0.0


def test_an_interval_of_nothing_is_still_a_pause() -> None:
    pace = Pace(0.0, "a", Clock().now)
    pace.trying()
    assert pace.pause(1) == FIRST
