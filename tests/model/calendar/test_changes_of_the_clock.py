"""When the clock on the wall is set, rules run when Debian's cron would run them, in every zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import product
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.model.calendar import Rule, cron
from tests.model.calendar.walk import DAY, HOUR, Look, changes, due, walk

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"]
BEGIN, END = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2026, 2028))

EXPRESSIONS = [
    "* * * * *",
    "*/5 * * * *",
    "*/7 * * * *",
    "*/30 2 * * *",
    "* 2 * * *",
    "0 * * * *",
    "30 * * * *",
    "30 */2 * * *",
    "4 */7 * * *",
    "0-59 * * * *",
    "0-59 2 * * *",
    "*/15 0 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "59 23 * * *",
    "0 1 * * *",
    "30 1 * * *",
    "0 2 * * *",
    "15 2 * * *",
    "30 2 * * *",
    "59 2 * * *",
    "0 3 * * *",
    "30 3 * * *",
    "0,30 0-3 * * *",
    "45 1,2 * * *",
    "0 0-23 * * *",
    "30 2 * * 0",
    "30 2 * * 5",
    "0 0 * * fri",
    "0 0 L * *",
    "30 2 LW,15W * *",
    "30 1 * * 0#1",
    "30 2 * * 0L",
    "30 2 */2 * *",
    "30 2 1,15 * 0",
    "10 2 * mar,oct,apr *",
    "* 21-23 5 * *",
    "5-55/10 1-3 * * *",
]
SECONDS = ["* * * * * *", "*/20 30 2 * * *", "15 30 2 * * *", "30 * 2 * * *", "10,50 15 0 * * *", "59 59 23 * * *"]


@lru_cache
def looks_around(zone: str, change: int) -> list[Look]:
    return walk(zone, change - DAY, change + DAY)


def ticks(rule: Rule, begin: float, end: float) -> list[float]:
    """Those from the beginning on, the end excluded."""
    found, tick = [], rule.after(begin - 1)
    while tick is not None and tick < end:
        found.append(tick)
        tick = rule.after(tick)
    return found


def local(times: list[float], zone: str) -> list[str]:
    return [f"{datetime.fromtimestamp(at, ZoneInfo(zone)):%d %H:%M:%S %z}" for at in times]


def test_there_are_changes_in_all_four_zones() -> None:
    assert [len(changes(zone, BEGIN, END)) for zone in ZONES] == [4, 4, 4, 4]


@pytest.mark.parametrize(("zone", "expression"), [*product(ZONES, EXPRESSIONS)])
def test_the_changes_of_two_years_go_as_in_debians_cron(zone: str, expression: str) -> None:
    rule = cron(expression, tz=zone)
    for change in changes(zone, BEGIN, END):
        wanted = due(expression, looks_around(zone, change))
        assert local(ticks(rule, change - DAY, change + DAY), zone) == local(wanted, zone)


@pytest.mark.parametrize(
    ("zone", "year"),
    [
        ("Antarctica/Casey", 2009),  # forward by three hours, and back in the next year
        ("Antarctica/Casey", 2010),
        pytest.param("Antarctica/Troll", 2026, marks=pytest.mark.thorough),  # by two hours
        pytest.param("Antarctica/Vostok", 1994, marks=pytest.mark.thorough),  # by seven
        ("Pacific/Apia", 2011),  # by a day
        pytest.param("America/Nuuk", 2026, marks=pytest.mark.thorough),  # at midnight, into the day before
        pytest.param("America/Havana", 2026, marks=pytest.mark.thorough),  # at midnight and one
        pytest.param("Africa/Casablanca", 2026, marks=pytest.mark.thorough),  # in winter, by the moon
        ("America/Caracas", 2016),  # once and for all
    ],
)
def test_odd_changes_go_as_in_debians_cron(zone: str, year: int) -> None:
    begin = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
    found = changes(zone, begin, begin + 365 * DAY)
    assert found
    for change, expression in product(found, [*EXPRESSIONS, "30 0-23 * * *", "15 0,3,22,23 * * *", "*/20 22-23 * * *"]):
        wanted = due(expression, looks_around(zone, change))
        assert local(ticks(cron(expression, tz=zone), change - DAY, change + DAY), zone) == local(wanted, zone)


@pytest.mark.parametrize("zone", ZONES)
def test_seconds_go_by_the_same_rules(zone: str) -> None:
    for change in changes(zone, BEGIN, END)[:2]:
        begin, end = change - 2 * HOUR, change + 2 * HOUR
        looks = walk(zone, begin, end, unit=1)
        for expression in SECONDS:
            assert ticks(cron(expression, tz=zone, seconds=True), begin, end) == due(expression, looks)


def fired(expression: str, zone: str, day: str) -> list[str]:
    """What happens on that day and until two the next morning, by the clock on the wall."""
    begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    end = begin + timedelta(days=1, hours=2)
    found = ticks(cron(expression, tz=zone), begin.timestamp(), end.timestamp())
    return [f"{datetime.fromtimestamp(at, ZoneInfo(zone)):%d %H:%M}" for at in found]


class TestInWords:
    """The same without an oracle: what the documents promise."""

    def test_a_fixed_time_that_is_left_out_runs_right_after(self) -> None:
        assert fired("30 2 * * *", "Europe/Berlin", "2026-03-29")[0] == "29 03:00"

    def test_several_that_are_left_out_are_one_tick(self) -> None:
        assert fired("0,20,40 2,3 * * *", "Europe/Berlin", "2026-03-29")[:3] == ["29 03:00", "29 03:20", "29 03:40"]

    def test_a_fixed_time_that_comes_twice_runs_the_first_time(self) -> None:
        rule = cron("30 2 * * *", tz="Europe/Berlin")
        first = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
        assert rule.after(first - HOUR) == first
        assert rule.after(first) == first + 25 * HOUR

    def test_wildcards_go_by_what_the_clock_shows(self) -> None:
        assert fired("*/30 2 * * *", "Europe/Berlin", "2026-03-29") == []
        assert fired("*/30 2 * * *", "Europe/Berlin", "2026-10-25") == ["25 02:00", "25 02:30"] * 2

    def test_a_midnight_that_does_not_exist_is_an_hour_later(self) -> None:
        assert fired("0 0 * * *", "Africa/Cairo", "2026-04-24") == ["24 01:00", "25 00:00"]

    def test_the_last_hour_of_a_day_that_does_not_exist_is_done_at_midnight(self) -> None:
        assert fired("30 23 * * 6", "America/Nuuk", "2026-03-28") == ["29 00:00"]

    def test_half_an_hour_is_a_change_too(self) -> None:
        assert fired("15 2 * * *", "Australia/Lord_Howe", "2026-10-04")[0] == "04 02:30"
        assert fired("45 1 * * *", "Australia/Lord_Howe", "2026-04-05")[:2] == ["05 01:45", "06 01:45"]

    def test_a_day_that_a_country_left_out_is_left_out(self) -> None:
        assert fired("0 12 * * *", "Pacific/Apia", "2011-12-29") == ["29 12:00"]
        assert fired("0 0 * * *", "Pacific/Apia", "2011-12-29") == ["29 00:00", "31 00:00"]


# --- anything, anywhere ------------------------------------------------------------------------------------------


def spans(low: int, high: int) -> st.SearchStrategy[str]:
    """A number, or a range, with a step where there is room for one."""
    pairs = st.tuples(st.integers(low, high), st.integers(low, high)).map(sorted)

    def stepped(pair: list[int]) -> st.SearchStrategy[str]:
        text = f"{pair[0]}-{pair[1]}"
        room = pair[1] - pair[0]
        return st.sampled_from([text, *(f"{text}/{step}" for step in (1, 2, 3, 7) if step <= room)])

    return st.integers(low, high).map(str) | pairs.flatmap(stepped)


def stars(high: int) -> st.SearchStrategy[str]:
    return st.sampled_from(["*", *(f"*/{step}" for step in (2, 3, 5, 6, 7, 20) if step < high)])


def some(low: int, high: int, *more: str) -> st.SearchStrategy[str]:
    terms = spans(low, high) | st.sampled_from(more) if more else spans(low, high)
    return stars(high) | st.lists(terms, min_size=1, max_size=3).map(",".join)


expressions = st.tuples(
    some(0, 59),
    some(0, 3) | some(0, 23),
    st.just("*") | some(1, 31, "L", "LW", "1W", "15W", "30W"),
    st.just("*") | some(1, 12, "MAR", "OCT"),
    st.just("*") | some(0, 6, "7", "5-7", "SUN", "FRI", "5#2", "0#5", "SUN#1", "0L", "SATL"),
).map(" ".join)

zones = st.sampled_from(sorted(available_timezones() - {"Factory", "localtime"}))


@st.composite
def scenes(draw: st.DrawFn) -> tuple[str, int]:
    """A zone, and a moment at which its clock is set, if it is in that year at all."""
    zone = draw(zones)
    begin = int(datetime(draw(st.integers(1973, 2036)), 1, 1, tzinfo=UTC).timestamp())
    found = changes(zone, begin, begin + 366 * DAY)
    return zone, draw(st.sampled_from(found)) if found else begin + draw(st.integers(0, 366)) * DAY


@settings(deadline=None, max_examples=100)
@given(scene=scenes(), expression=expressions)
def test_any_expression_in_any_zone_goes_as_in_debians_cron(scene: tuple[str, int], expression: str) -> None:
    zone, change = scene
    try:
        rule = cron(expression, tz=zone)
    except ValueError as fault:
        assert "no month has such a day" in str(fault)  # noqa: PT017 - nothing else can be wrong with these
        return
    wanted = due(expression, walk(zone, change - DAY, change + DAY))
    assert local(ticks(rule, change - DAY, change + DAY), zone) == local(wanted, zone)
