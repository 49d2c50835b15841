"""`dibs.explain`: what a schedule means, before anybody relies on it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from time import time
from zoneinfo import ZoneInfo

import pytest

import dibs
from dibs.rules import cron_rule, every_rule

NOW = datetime(2027, 3, 25, 12, tzinfo=UTC)


def test_it_says_the_rule_in_words_and_the_next_ten_times_in_its_zone() -> None:
    told = dibs.explain("30 2 * * *", tz="Europe/Berlin", after=NOW)
    assert told.words == "at 02:30 every day, Europe/Berlin time"
    assert len(told.next) == 10
    assert [f"{at:%d %H:%M %Z}" for at in told.next[:4]] == [
        "26 02:30 CET",
        "27 02:30 CET",
        "28 03:00 CEST",
        "29 02:30 CEST",
    ]
    assert told.notes[0] == "2027-03-28: 02:30 does not exist; runs at 03:00"


def test_it_prints_all_of_it() -> None:
    lines = str(dibs.explain("30 2 * * *", tz="Europe/Berlin", after=NOW)).splitlines()
    assert lines[:4] == [
        "at 02:30 every day, Europe/Berlin time",
        "next:",
        "  Fri 2027-03-26 02:30:00 CET",
        "  Sat 2027-03-27 02:30:00 CET",
    ]
    assert lines[-3:] == [
        "when the clock is set:",
        "  2027-03-28: 02:30 does not exist; runs at 03:00",
        "  2027-10-31: 02:30 comes twice; runs the first time only",
    ]
    assert "set" not in str(dibs.explain("30 2 * * *", after=NOW))


def test_it_begins_now_unless_told_otherwise() -> None:
    before = time()
    assert before < dibs.explain("* * * * * *", seconds=True).next[0].timestamp() < before + 60
    assert dibs.explain("@daily", after=0).next[0] == datetime(1970, 1, 2, tzinfo=UTC)


def test_it_knows_intervals_too() -> None:
    told = dibs.explain("@every 90s", after=NOW)
    assert told.words == "every 1 minute and 30 seconds, counted from 1970-01-01 00:00 UTC"
    assert told.next[0] == NOW + timedelta(seconds=90)
    assert told.notes == ()


def test_where_the_calendar_ends_there_are_fewer_times() -> None:
    assert dibs.explain("0 0 29 2 *", after=252_900_000_000).next == (
        datetime(9984, 2, 29, tzinfo=UTC),
        datetime(9988, 2, 29, tzinfo=UTC),
    )


def test_a_zone_may_be_given_as_an_object_that_has_a_name() -> None:
    berlin = dibs.explain("0 3 * * *", tz=ZoneInfo("Europe/Berlin"), after=NOW)
    assert berlin == dibs.explain("0 3 * * *", tz="Europe/Berlin", after=NOW)
    assert dibs.explain("0 3 * * *", tz=UTC, after=NOW) == dibs.explain("0 3 * * *", after=NOW)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (lambda: dibs.explain("0 22-2 * * *"), "hour '22-2'.*write '22-23,0-2'"),
        (lambda: dibs.explain("* * * * * *"), "seconds=True"),
        (lambda: dibs.explain("@daily", tz="Mars/Olympus"), "tz 'Mars/Olympus'.*'Europe/Berlin'"),
        (lambda: dibs.explain("@daily", tz=timezone(timedelta(hours=2))), "tz=.*name the time zone"),
        (lambda: dibs.explain("@daily", tz=ZoneInfo.from_file), "tz=.*name the time zone"),  # type: ignore[arg-type]
        (lambda: dibs.explain("@daily", seconds=1), "seconds=1: say True or False"),  # type: ignore[arg-type]
        (lambda: dibs.explain("@daily", after=datetime(2027, 1, 1)), "after=.*with a time zone"),  # noqa: DTZ001
        (lambda: dibs.explain("@daily", after=-1.0), "after=-1.0.*from 1970 on"),
        (lambda: dibs.explain("@daily", after=float("nan")), "after=nan"),
        (lambda: dibs.explain("@daily", after="now"), "after='now'"),  # type: ignore[arg-type]
        (lambda: every_rule("10ms"), "from 1s to 366d"),
        (lambda: every_rule("90s", jitter="x"), "jitter: 'x'"),
        (lambda: cron_rule("@daily", jitter="25h"), "jitter=1d1h is out of range"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_what_to_write(wrong: object, advice: str) -> None:
    assert callable(wrong)
    with pytest.raises(dibs.ConfigError, match=advice):
        wrong()


def test_rules_are_made_of_what_people_say() -> None:
    assert cron_rule("0 3 * * *", tz="Europe/Berlin", jitter="30s").text == "cron 0 3 * * * Europe/Berlin jitter=30s"
    assert every_rule(timedelta(minutes=2), jitter=1.5).text == "every 120s jitter=1.5s"


def test_it_is_a_function_whoever_was_fetched_first() -> None:
    script = "import dibs; dibs.Explanation; print(dibs.explain('@hourly', after=0).words)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "every hour, UTC\n"


def test_nobody_pays_for_the_calendar_who_does_not_ask_for_it() -> None:
    script = "import sys, dibs; dibs.connect('memory://'); print({'dibs.explanation', 'zoneinfo'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
