"""How people write durations, and how we say them."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.duration import seconds, spoken


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (30, 30.0),
        (0, 0.0),
        (0.25, 0.25),
        (timedelta(minutes=5), 300.0),
        (timedelta(milliseconds=1), 0.001),
        ("500ms", 0.5),
        ("90s", 90.0),
        ("1.5m", 90.0),
        ("1h30m", 5400.0),
        ("1d", 86400.0),
        ("2w", 1209600.0),
        ("1H30M", 5400.0),
        (" 5 s ", 5.0),
        ("1h 30m", 5400.0),
        ("0s", 0.0),
        ("1m1ms", 60.001),
    ],
)
def test_a_duration_is_written_in_many_ways(written: object, meant: float) -> None:
    assert seconds(written) == pytest.approx(meant, abs=1e-12)
    assert isinstance(seconds(written), float)


@pytest.mark.parametrize("text", ["", " ", "abc", "5", "s", "5 parsecs", "-5s", "1h-30m", "1.s", ".5s", "5s!", "1e3s"])
def test_text_that_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write it as '500ms', '90s', '1h30m' or '1d'"):
        seconds(text)


@pytest.mark.parametrize("value", [None, True, False, b"5s", [5], Decimal(5), 5j])
def test_what_is_no_duration_at_all_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; use seconds, a timedelta or text such as '1h30m'"):
        seconds(value)


@pytest.mark.parametrize("value", [-1, -0.001, timedelta(seconds=-1)])
def test_time_does_not_run_backwards(value: object) -> None:
    with pytest.raises(ValueError, match="is negative; a duration counts forward"):
        seconds(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, "9" * 400 + "s"])
def test_a_duration_has_an_end(value: object) -> None:
    with pytest.raises(ValueError, match="has no end; give a finite duration"):
        seconds(value)


@pytest.mark.parametrize(
    "value", [10**400, 10**5000, "1" + "0" * 308 + "s" + "1" + "0" * 308 + "s"], ids=["int", "huge", "text"]
)
def test_a_number_too_large_for_any_clock_is_refused_like_the_others(value: object) -> None:
    with pytest.raises(ValueError, match="give a finite duration"):
        seconds(value)


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (0, "0ms"),
        (0.05, "50ms"),
        (0.9994, "999ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (2.3456, "2.35s"),
        (59, "59s"),
        (60, "1m"),
        (90, "1m30s"),
        (3600, "1h"),
        (5400, "1h30m"),
        (3661, "1h1m"),
        (86400, "1d"),
        (90061, "1d1h"),
        (86400 * 365, "365d"),
        (3605, "1h5s"),
    ],
)
def test_a_duration_is_said_as_people_say_it(duration: float, words: str) -> None:
    assert spoken(duration) == words


@given(st.floats(min_value=0.01, max_value=10_000_000))
def test_what_is_said_can_be_written_again(duration: float) -> None:
    assert seconds(spoken(duration)) == pytest.approx(duration, rel=0.07)
