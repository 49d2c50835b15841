"""Which window a moment is in, and when that ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.window import Calendar, Month, SinceSuccess, window

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
HAVANA = ZoneInfo("America/Havana")


def moment(text: str, tz: tzinfo = UTC, *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=tz, fold=fold).timestamp()


def end(per: object, at: float, tz: tzinfo | None = None) -> str:
    """The end of the window, by the clock on the wall there."""
    ends_at = window(per, tz=tz, since=None).ends_at(at, at)
    return datetime.fromtimestamp(ends_at, tz or UTC).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("per", "ends"),
    [
        ("1m", "2026-03-04 05:07"),
        ("5m", "2026-03-04 05:10"),
        (timedelta(hours=1), "2026-03-04 06:00"),
        ("6h", "2026-03-04 06:00"),
        ("1d", "2026-03-05 00:00"),
        ("1w", "2026-03-09 00:00"),
        ("month", "2026-04-01 00:00"),
    ],
)
def test_windows_begin_with_the_clock_and_the_calendar(per: object, ends: str) -> None:
    assert end(per, moment("2026-03-04 05:06:07.5")) == ends


def test_a_week_begins_on_monday_and_two_do_too() -> None:
    assert end("1w", moment("2026-03-01 23:59:59")) == "2026-03-02 00:00"
    assert end("1w", moment("2026-03-02")) == "2026-03-09 00:00"
    last = window("2w", tz=None, since=None).ends_at(moment("2026-03-02"), 0.0)
    assert datetime.fromtimestamp(last, UTC).strftime("%A %H:%M") == "Monday 00:00"


def test_a_moment_on_the_boundary_is_in_the_window_that_begins() -> None:
    assert end("1h", moment("2026-03-04 05:00:00")) == "2026-03-04 06:00"
    assert end("1h", moment("2026-03-04 04:59:59.999999")) == "2026-03-04 05:00"
    assert end("month", moment("2026-12-01")) == "2027-01-01 00:00"
    assert end("month", moment("2026-11-30 23:59:59.9")) == "2026-12-01 00:00"


def test_what_does_not_divide_a_day_is_counted_from_the_epoch() -> None:
    assert window("7m", tz=None, since=None).ends_at(421.0, 421.0) == 840.0
    assert window("2d", tz=None, since=None).ends_at(0.0, 0.0) == 172800.0


def test_since_the_last_success_knows_no_calendar() -> None:
    assert window("5m", tz=None, since="success") == SinceSuccess(300.0)
    assert SinceSuccess(300.0).ends_at(1000.0, 1060.0) == 1360.0


# --- where the clock on the wall is set --------------------------------------------------------------------------


def test_a_day_in_a_time_zone_is_a_day_there() -> None:
    assert end("1d", moment("2026-06-30 22:30"), BERLIN) == "2026-07-02 00:00"
    assert end("1d", moment("2026-06-30 22:30")) == "2026-07-01 00:00"


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-24", 24)])
def test_the_day_on_which_the_clock_is_set_is_shorter_or_longer(day: str, hours: int) -> None:
    midnight = moment(day, BERLIN)
    window_of_a_day = Calendar(86400.0, BERLIN)
    for later in (0, 1, 2 * 3600, 3 * 3600, hours * 3600 - 1):
        assert window_of_a_day.ends_at(midnight + later, 0.0) == midnight + hours * 3600


def test_weeks_and_months_end_at_the_midnight_of_their_place() -> None:
    assert end("1w", moment("2026-03-25", BERLIN), BERLIN) == "2026-03-30 00:00"
    assert end("month", moment("2026-03-25", BERLIN), BERLIN) == "2026-04-01 00:00"
    assert end("90d", moment("2026-03-25", BERLIN), BERLIN).endswith("00:00")
    assert Month(BERLIN).ends_at(moment("2026-03-31 22:30"), 0.0) == moment("2026-04-30 22:00")


def ends_on(day: str, per: float, tz: tzinfo) -> list[str]:
    """All ends of the windows that begin on a day, and how many minutes each lasts."""
    at, last, found = moment(day, tz), moment(day, tz) + 23 * 3600, list[str]()
    while at < last:
        ends_at = Calendar(per, tz).ends_at(at, at)
        found.append(f"{datetime.fromtimestamp(ends_at, tz):%H:%M} {(ends_at - at) / 60:.0f}")
        at = ends_at
    return found


def test_the_hour_that_comes_twice_is_two_windows() -> None:
    assert ends_on("2026-10-25", 3600.0, BERLIN)[:5] == ["01:00 60", "02:00 60", "02:00 60", "03:00 60", "04:00 60"]
    assert ends_on("2026-10-25", 1800.0, BERLIN)[3:8] == ["02:00 30", "02:30 30", "02:00 30", "02:30 30", "03:00 30"]


def test_a_longer_window_holds_the_hour_that_comes_twice() -> None:
    assert ends_on("2026-10-25", 7200.0, BERLIN)[:3] == ["02:00 120", "04:00 180", "06:00 120"]
    assert ends_on("2026-10-25", 3 * 3600.0, BERLIN)[:3] == ["03:00 240", "06:00 180", "09:00 180"]
    assert ends_on("2026-10-25", 6 * 3600.0, BERLIN) == ["06:00 420", "12:00 360", "18:00 360", "00:00 360"]


def test_the_hour_that_is_left_out_ends_what_would_have_ended_in_it() -> None:
    assert ends_on("2026-03-29", 3600.0, BERLIN)[:4] == ["01:00 60", "03:00 60", "04:00 60", "05:00 60"]
    assert ends_on("2026-03-29", 7200.0, BERLIN)[:3] == ["03:00 120", "04:00 60", "06:00 120"]
    assert ends_on("2026-03-29", 6 * 3600.0, BERLIN) == ["06:00 300", "12:00 360", "18:00 360", "00:00 360"]


def test_a_clock_may_be_set_by_half_an_hour_or_at_midnight() -> None:
    assert ends_on("2026-04-05", 1200.0, LORD_HOWE)[4:8] == ["01:40 20", "01:30 20", "01:40 10", "02:00 20"]
    assert ends_on("2026-04-05", 3600.0, LORD_HOWE)[:3] == ["01:00 60", "02:00 90", "03:00 60"]
    assert end("1d", moment("2026-03-07 12:00", HAVANA), HAVANA) == "2026-03-08 01:00"
    assert end("1d", moment("2026-10-31 12:00", HAVANA), HAVANA) == "2026-11-01 00:00"
    assert end("1d", moment("2026-11-01 00:30", HAVANA), HAVANA) == "2026-11-02 00:00"


@given(
    st.floats(0, 4e9),
    st.sampled_from([60.0, 900.0, 3600.0, 7200.0, 21600.0, 86400.0, 604800.0]),
    st.sampled_from([UTC, BERLIN, LORD_HOWE, HAVANA]),
)
def test_a_window_ends_later_and_all_that_it_holds_ends_with_it(at: float, per: float, tz: tzinfo) -> None:
    windows = Calendar(per, tz)
    ends_at = windows.ends_at(at, at)
    assert at < ends_at <= at + per + 3600
    moments = [at + (ends_at - at) * part for part in (0.0, 0.25, 0.5, 0.75)]
    assert {windows.ends_at(moment, moment) for moment in moments} == {ends_at}
    assert all(earlier <= later for earlier, later in pairwise(moments))


# --- what cannot be meant ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"per": "daily"}, "per: 'daily' is not a duration; .* or '1d', or 'month'"),
        ({"per": 0}, "per=0 is out of range; it goes from 100ms to 366d"),
        ({"per": "400d"}, "per='400d' is out of range"),
        ({"per": "1d", "since": "failure"}, "since='failure': say 'success'"),
        ({"per": "1d", "since": "success", "tz": BERLIN}, "it goes with no tz="),
        ({"per": "month", "since": "success"}, "it goes with no per='month'"),
        ({"per": "7m", "tz": BERLIN}, "per='7m' with a time zone: only what divides a day"),
    ],
)
def test_nonsense_is_refused_in_words(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        window(**{"tz": None, "since": None, **options})
