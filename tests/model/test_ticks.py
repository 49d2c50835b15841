"""Which ticks have come, which of them are to be run, and why the others are not."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.calendar import Rule, cron, every
from dibs.model.job import Job, Terms
from dibs.model.ticks import MOST_TOLD, PUNCTUAL, last_tick, moment, ticks_come

NOW = 1_800_000_000.0
MINUTE = 60.0


def job(next_due: float | None, *, rule: str = "every 60s", **terms: Any) -> Job:
    return Job("report", 1, 1, rule, Terms(**terms), next_due)


def to_run(job: Job, now: float) -> list[float]:
    return [come.tick for come in ticks_come(job, now) if not come.missed]


def missed(job: Job, now: float) -> list[float]:
    return [come.tick for come in ticks_come(job, now) if come.missed]


def test_before_its_time_nothing_has_come() -> None:
    assert ticks_come(job(NOW), NOW - 0.001) == []


def test_a_job_without_a_next_tick_has_none() -> None:
    assert ticks_come(job(None), NOW) == []


@pytest.mark.parametrize("catch_up", ["latest", "all", "none"])
def test_a_tick_that_has_just_come_is_run(catch_up: str) -> None:
    assert [(come.tick, come.missed) for come in ticks_come(job(NOW, catch_up=catch_up), NOW + 0.5)] == [(NOW, "")]


def test_of_several_the_latest_is_run_and_the_others_are_told() -> None:
    come = ticks_come(job(NOW - 3 * MINUTE), NOW + 1)
    assert [each.tick for each in come] == [NOW - 180, NOW - 120, NOW - 60, NOW]
    assert [each.missed for each in come[-2:]] == [
        "nobody was there for it when it came, 1m1s ago, and a later one was run instead",
        "",
    ]


def test_all_are_run_if_all_are_wanted_up_to_so_many() -> None:
    behind = job(NOW - 3 * MINUTE, catch_up="all")
    assert to_run(behind, NOW) == [NOW - 180, NOW - 120, NOW - 60, NOW]
    behind = job(NOW - 3 * MINUTE, catch_up="all", most=2)
    assert to_run(behind, NOW) == [NOW - 60, NOW]
    assert ticks_come(behind, NOW)[0].missed == "there were more than 2 to catch up with"


def test_none_is_run_that_is_not_punctual_if_none_is_to_be_caught_up_with() -> None:
    behind = job(NOW - 3 * MINUTE, catch_up="none")
    assert to_run(behind, NOW + PUNCTUAL) == [NOW]
    assert to_run(behind, NOW + PUNCTUAL + 1) == []
    assert ticks_come(behind, NOW + 11)[-1].missed.endswith("11s ago, and it is not caught up with")


@pytest.mark.parametrize("catch_up", ["latest", "all"])
def test_none_is_run_that_is_later_than_its_grace(catch_up: str) -> None:
    behind = job(NOW - 3 * MINUTE, catch_up=catch_up, grace=90.0)
    assert missed(behind, NOW + 40)[:2] == [NOW - 180, NOW - 120]
    assert to_run(behind, NOW + 40)[-1] == NOW
    assert ticks_come(behind, NOW + 40)[0].missed == "it came 3m40s ago, and its grace is 1m30s"
    assert to_run(job(NOW, rule="every 3600s", catch_up=catch_up, grace=90.0), NOW + 91) == []


def test_lateness_counts_from_when_it_was_put_off_to() -> None:
    put_off = job(NOW, rule="every 60s jitter=50s", catch_up="none", grace=1.0)
    due_at = put_off.due_at(NOW)
    assert NOW < due_at < NOW + 50
    assert ticks_come(put_off, due_at - 0.001) == []
    assert to_run(put_off, due_at + 0.5) == [NOW]


def test_of_a_long_absence_the_latest_ticks_are_told_one_by_one_and_the_others_together() -> None:
    absent = job(NOW - 50_000 * MINUTE)
    come = ticks_come(absent, NOW)
    assert len(come) == MOST_TOLD + 1
    assert [each.tick for each in come[:2]] == [NOW - MOST_TOLD * MINUTE, NOW - (MOST_TOLD - 1) * MINUTE]
    since = moment(NOW - 50_000 * MINUTE)
    assert come[0].missed == f"nobody was there for it, nor for any before it since {since}"
    assert [each.since for each in come[:2]] == [NOW - 50_000 * MINUTE, None]
    assert to_run(absent, NOW) == [NOW]


def test_exactly_as_many_as_are_told_one_by_one_are() -> None:
    come = ticks_come(job(NOW - (MOST_TOLD - 1) * MINUTE), NOW)
    assert (len(come), come[0].tick) == (MOST_TOLD, NOW - (MOST_TOLD - 1) * MINUTE)
    assert "nor for any before" not in come[0].missed


def test_a_rule_that_is_changed_is_not_looked_at_before_its_next_tick() -> None:
    yearly = replace(job(NOW), rule="cron 0 0 1 1 * UTC")
    assert [each.tick for each in ticks_come(yearly, NOW + 5)] == [NOW]


def test_a_moment_is_told_in_utc() -> None:
    assert moment(0.0) == "1970-01-01 00:00:00 UTC"


RULES = (
    cron("*/5 * * * *", tz="Europe/Berlin"),
    cron("* * 1 1 *"),
    cron("0 3 29 2 *"),
    cron("* * * * * *", seconds=True),
    every("1s"),
    every("7h"),
)


@given(st.sampled_from(RULES), st.floats(0, 4e9), st.booleans())
def test_the_last_tick_by_a_moment_is_followed_by_none_that_has_come(rule: Rule, by: float, is_tick: bool) -> None:
    by = (rule.after(by) or by) if is_tick else by
    found = last_tick(rule, by)
    if found is None:
        first = rule.after(-1.0)
        assert first is not None
        assert first > by
        return
    assert found <= by
    assert (rule.after(found) or inf) > by
    assert rule.after(found - 0.001) == found
