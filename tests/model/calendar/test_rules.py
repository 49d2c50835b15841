"""What holds of every rule: the next is later, none is left out, and nobody's clock or start makes a difference."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from math import inf, nan
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.model.calendar import Cron, Rule, cron, due_at, every
from dibs.model.calendar.cron import FIELDS
from dibs.model.calendar.days import Days
from dibs.model.calendar.rule import LATEST
from dibs.model.calendar.zones import STRETCH, Zone, zone
from tests.model.calendar.moments import moment
from tests.model.calendar.test_changes_of_the_clock import expressions, zones

NOW = moment("2026-11-16 12:00")
EDGE = 40 * STRETCH
moments = st.floats(0, 4e9)
intervals = st.integers(1000, 40_000_000).map(lambda ms: every(ms / 1000))


@st.composite
def crons(draw: st.DrawFn) -> Rule:
    expression = draw(expressions.filter(_is_possible))
    return cron(expression, tz=draw(zones))


def _is_possible(expression: str) -> bool:
    try:
        cron(expression)
    except ValueError:
        return False
    return True


rules = crons() | intervals


@settings(deadline=None)
@given(rule=rules, at=moments)
def test_the_next_is_later(rule: Rule, at: float) -> None:
    tick = rule.after(at)
    assert tick is not None
    assert tick > at


@settings(deadline=None)
@given(rule=rules, at=moments, part=st.floats(0, 1))
def test_who_asks_between_two_ticks_hears_of_the_same_one(rule: Rule, at: float, part: float) -> None:
    tick = rule.after(at)
    assert tick is not None
    between = at + (tick - at) * part
    assert rule.after(between) == tick or between >= tick


@settings(deadline=None)
@given(rule=rules, at=moments, later=st.floats(0, 1e7))
def test_who_asks_later_never_hears_of_an_earlier_one(rule: Rule, at: float, later: float) -> None:
    first, second = rule.after(at), rule.after(at + later)
    assert first is not None
    assert second is not None
    assert first <= second


@pytest.mark.parametrize("rule", [cron("* * * * *"), every("7s")], ids=str)
def test_there_is_nothing_before_1970_and_an_end(rule: Rule) -> None:
    assert rule.after(-inf) == rule.after(-1.0) == rule.after(-0.25) == 0.0
    assert rule.after(LATEST) is rule.after(inf) is rule.after(nan) is None


def test_rules_can_be_sent_to_another_process() -> None:
    for rule in (cron("0 3 * * 1", tz="Europe/Berlin", jitter=5), every("90s")):
        again = pickle.loads(pickle.dumps(rule))  # noqa: S301 - our own
        assert again == rule
        assert again.after(NOW) == rule.after(NOW)


# --- a second opinion --------------------------------------------------------------------------------------------

SHARED = [
    "*/5 * * * *",
    "0 3 * * *",
    "30 2 * * *",
    "*/20 1-3 * * *",
    "0 0 13 * 5",
    "0 0 */2 * 1",
    "0 12 L * *",
    "0 12 LW * *",
    "15 10 * * 5#2",
    "15 10 * * 5L",
    "0 0 29 2 *",
    "0 0 1 1 *",
    "45 23 * jun-aug sat,sun",
]


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("expression", SHARED)
def test_cronsim_says_the_same_where_clocks_are_set_by_whole_hours(expression: str, name: str) -> None:
    begin = datetime(2026, 1, 1, tzinfo=ZoneInfo(name))
    rule, theirs = cron(expression, tz=name), islice(CronSim(expression, begin), 300)
    tick = rule.after(begin.timestamp())
    for at in theirs:
        assert tick == at.timestamp()
        tick = rule.after(tick)


# --- intervals ---------------------------------------------------------------------------------------------------


class TestIntervals:
    def test_are_counted_from_1970_wherever_one_starts(self) -> None:
        assert every("90s").after(NOW) == NOW + 90 - NOW % 90
        assert every("1d").after(NOW) == moment("2026-11-17")
        assert every(timedelta(minutes=7)).after(0.0) == 420.0

    def test_of_parts_of_a_second_do_not_drift(self) -> None:
        rule, tick = every("1100ms"), 0.0
        for count in range(1, 1000):
            tick = rule.after(tick) or nan
            assert tick == count * 1100 / 1000

    @given(st.integers(1, 10**9), st.integers(1000, 5000))
    def test_a_tick_follows_on_a_tick_and_none_is_left_out(self, count: int, ms: int) -> None:
        rule, tick = every(ms / 1000), count * ms / 1000
        assert rule.after(tick) == (count + 1) * ms / 1000


# --- jitter ------------------------------------------------------------------------------------------------------


class TestJitter:
    def test_without_it_a_tick_runs_when_it_is_due(self) -> None:
        assert due_at(cron("0 3 * * *"), NOW, name="report") == NOW

    def test_is_the_same_for_all_who_ask(self) -> None:
        rule = cron("0 3 * * *", jitter="10m")
        assert due_at(rule, NOW, name="report") == due_at(rule, NOW, name="report")
        assert due_at(rule, 1795012200.0, name="report") == 1795012421.964

    def test_is_another_for_each_job_and_each_tick_and_all_over_its_room(self) -> None:
        rule = cron("0 3 * * *", jitter="10m")
        by_job = {due_at(rule, NOW, name=f"job-{number}") - NOW for number in range(500)}
        by_tick = {due_at(rule, NOW + number * 86400, name="job") - NOW - number * 86400 for number in range(500)}
        for delays in (by_job, by_tick):
            assert len(delays) > 490
            assert 0 <= min(delays) < 30
            assert 570 < max(delays) < 600

    @settings(deadline=None)
    @given(rule=st.sampled_from([cron("* * * * *", jitter="1h"), every("1s", jitter="1d")]), at=moments)
    def test_runs_keep_the_order_of_their_ticks(self, rule: Rule, at: float) -> None:
        ticks = [at]
        for _ in range(5):
            ticks.append(rule.after(ticks[-1]) or nan)
        dues = [due_at(rule, tick, name="job") for tick in ticks[1:]]
        assert all(first < second for first, second in pairwise(dues))
        assert all(tick <= due < tick + rule.jitter for tick, due in zip(ticks[1:], dues, strict=True))

    def test_the_last_tick_of_all_may_have_it_too(self) -> None:
        last = float(LATEST)
        assert last <= due_at(every("1d", jitter=60), last, name="job") < last + 60


# --- zones -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"])
def test_the_spans_of_a_zone_are_without_a_gap_and_right_throughout(name: str) -> None:
    place, at = zone(name), 0
    while at < 2 * 10**9:
        span = place.span(at)
        assert (span.begin, span.end > at) == (at, True)
        for inside in (span.begin, (span.begin + span.end) // 2, span.end - 1):
            offset = datetime.fromtimestamp(inside, ZoneInfo(name)).utcoffset()
            assert offset == timedelta(seconds=span.ahead)
        at = span.end


class Made(Zone):
    """A clock that is set once, when no true zone does it."""

    def __init__(self, at: int, by: int) -> None:
        super().__init__("Made", UTC)
        self._at, self._by = at, by

    def ahead(self, at: int) -> int:
        return self._by if at >= self._at else 0


def made(expression: str, at: int, by: int) -> Cron:
    fields = [field.read(said) for field, said in zip(FIELDS, ["0", *expression.split()], strict=True)]
    return Cron(tuple(fields), Made(at, by))


@pytest.mark.parametrize("change", [EDGE - 5400, EDGE - 1800, EDGE, EDGE + 1800])
class TestAClockThatIsSetWhereOneStretchOfAZoneEnds:
    """Each is looked through by itself, but what was done in the one before must be known."""

    def test_does_not_repeat_what_is_fixed(self, change: int) -> None:
        rule = made("0-59 0-23 * * *", change, -3600)
        assert rule.after(change - 120) == change - 60
        assert rule.after(change - 60) == rule.after(change + 1800) == change + 3600

    def test_repeats_wildcards(self, change: int) -> None:
        rule, minutes = made("* * * * *", change, -3600), range(change - 120, change + 3600, 60)
        assert [rule.after(at) for at in minutes] == [at + 60 for at in minutes]

    def test_makes_up_for_what_is_fixed_at_once(self, change: int) -> None:
        rule = made(f"{(change + 600) // 60 % 60} 0-23 * * *", change, 3600)
        assert rule.after(change - 1) == change
        assert rule.after(change) == change + 600


@pytest.mark.parametrize(
    ("expression", "by", "next_after"),
    [
        ("10 13 * * *", timedelta(hours=2, minutes=59), timedelta(0)),  # it was left out, and is made up for
        ("10 13 * * *", timedelta(hours=3), timedelta(hours=22, minutes=10)),  # it was left out
        ("10 10 * * *", -timedelta(hours=3), timedelta(hours=25, minutes=10)),  # it had been done
        ("10 10 * * *", -timedelta(hours=3, minutes=1), timedelta(minutes=71)),  # it is done again
    ],
)
def test_a_clock_that_is_set_by_more_is_taken_for_another_one(
    expression: str, by: timedelta, next_after: timedelta
) -> None:
    noon = int(moment("2026-06-01 12:00"))
    rule = made(expression, noon, int(by.total_seconds()))
    assert rule.after(noon - 1) == noon + next_after.total_seconds()


def test_yearly_rules_take_no_longer_than_daily_ones_by_much() -> None:
    """Counted in looks at the calendar, not in seconds: whole months are passed over."""
    looks = 0

    class Counted(Days):
        def _in_month(self, year: int, month: int) -> int:
            nonlocal looks
            looks += 1
            return super()._in_month(year, month)

    rule = cron("0 0 29 2 *", tz="Europe/Berlin")
    assert isinstance(rule, Cron)
    rule.days = Counted(rule.days.days, rule.days.months, rule.days.weekdays)
    assert rule.after(moment("2096-03-01")) == moment("2104-02-29", "Europe/Berlin")
    assert looks <= 20
