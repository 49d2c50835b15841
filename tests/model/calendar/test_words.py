"""What a rule says in English, and what it says of changes of the clock."""

from __future__ import annotations

import pytest

from dibs.model.calendar import Cron, Rule, cron, every
from dibs.model.calendar.changes import notes
from dibs.model.calendar.words import words
from tests.model.calendar.moments import moment

NOW = moment("2026-11-16 12:00")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("*/5 9-17 * * 1-5", "every 5 minutes from 09:00 to 17:59, Monday to Friday"),
        ("*/5 2,5,7 * * *", "every 5 minutes in hours 2, 5 and 7"),
        ("*/7 * * * *", "at minutes 0, 7, 14, …, 56 of every hour"),
        ("5 * * * *", "at minute 5 of every hour"),
        ("1-10,30 8-20/2 * * *", "at minutes 1 to 10 and 30 of hours 8, 10, 12, 14, 16, 18 and 20"),
        ("@hourly", "every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("0 1-9/1,20 * * *", "at minute 0 of hours 1 to 9 and 20"),
        ("0 3 * * *", "at 03:00 every day"),
        ("0,30 2-3 * * *", "at 02:00, 02:30, 03:00 and 03:30 every day"),
        ("* 2 * * sat,sun", "every minute from 02:00 to 02:59 on Saturday and Sunday"),
        ("@yearly", "at 00:00 on day 1 of January"),
        ("@monthly", "at 00:00 on day 1 of every month"),
        ("@weekly", "at 00:00 on Sunday"),
        ("0 0 * 6 *", "at 00:00 every day in June"),
        ("0 0 * 6-8,12 mon,wed", "at 00:00 on Monday and Wednesday in June to August and December"),
        ("0 0 1,15,L * *", "at 00:00 on days 1 and 15 and the last day of every month"),
        ("0 0 LW * *", "at 00:00 on the last weekday (Monday to Friday) of every month"),
        ("0 0 15W 4 *", "at 00:00 on the weekday (Monday to Friday) nearest to day 15 of April"),
        ("0 0 * * 5#2", "at 00:00 on the second Friday of every month"),
        ("0 0 * 3 0L", "at 00:00 on the last Sunday in March"),
        ("0 0 13 * 5", "at 00:00 on day 13 of every month as well as on Friday"),
        ("0 0 */10 * 1", "at 00:00 on days 1, 11, 21 and 31 of every month, only if that is Monday"),
    ],
)
def test_expressions_in_words(expression: str, said: str) -> None:
    assert words(cron(expression)) == f"{said}, UTC"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("*/10 * * * * *", "every 10 seconds"),
        ("* * 9-17 * * *", "every second from 09:00 to 17:59"),
        ("30 0 3 * * *", "at 03:00:30 every day"),
        ("15,45 * * * * *", "at seconds 15 and 45 of every minute"),
        ("15,45 */20 * * * *", "at seconds 15 and 45 of minutes 0, 20 and 40 of every hour"),
        ("* 30 2 * * *", "every second of minute 30 of hour 2"),
    ],
)
def test_seconds_in_words(expression: str, said: str) -> None:
    assert words(cron(expression, seconds=True)) == f"{said}, UTC"


def test_zones_and_jitter_are_told() -> None:
    assert words(cron("0 3 * * *", tz="Europe/Berlin")) == "at 03:00 every day, Europe/Berlin time"
    assert words(cron("0 3 * * *", jitter="90s")) == "at 03:00 every day, UTC, put off by up to 1 minute and 30 seconds"


def test_intervals_in_words() -> None:
    since = "counted from 1970-01-01 00:00 UTC"
    assert words(every("90s")) == f"every 1 minute and 30 seconds, {since}"
    assert words(every("1d2h3m4s500ms")) == f"every 1 day, 2 hours, 3 minutes and 4.5 seconds, {since}"
    assert words(every("1h")) == f"every 1 hour, {since}"


def noted(expression: str, tz: str, *, since: float = NOW) -> list[str]:
    rule = cron(expression, tz=tz)
    assert isinstance(rule, Cron)
    return notes(rule, since)


class TestNotes:
    def test_tell_what_a_change_moves_and_what_it_would_repeat(self) -> None:
        assert noted("30 2 * * *", "Europe/Berlin") == [
            "2027-03-28: 02:30 does not exist; runs at 03:00",
            "2027-10-31: 02:30 comes twice; runs the first time only",
        ]

    def test_tell_what_it_leaves_out_and_repeats_of_wildcards(self) -> None:
        assert noted("*/15 2 * * *", "Europe/Berlin") == [
            "2027-03-28: 02:00, 02:15, 02:30 and more do not exist; left out",
            "2027-10-31: 02:00, 02:15, 02:30 and more come twice; runs both times",
        ]

    def test_tell_the_day_on_which_it_was_to_be(self) -> None:
        assert noted("30 23 * * *", "America/Nuuk")[0] == "2027-03-27: 23:30 does not exist; runs at 00:00"

    def test_know_seconds_and_half_hours(self) -> None:
        rule = cron("15 10 2 * * *", tz="Australia/Lord_Howe", seconds=True)
        assert isinstance(rule, Cron)
        assert notes(rule, NOW)[-1] == "2027-10-03: 02:10:15 does not exist; runs at 02:30"

    def test_are_none_where_nothing_changes(self) -> None:
        assert noted("30 2 * * *", "UTC") == []
        assert noted("30 12 * * *", "Europe/Berlin") == []
        assert noted("30 2 1 1 *", "Europe/Berlin") == []

    def test_tell_that_a_whole_day_is_left_out(self) -> None:
        since = moment("2011-06-01")
        assert "2011-12-30: 12:00 does not exist; left out" in noted("0 12 * * *", "Pacific/Apia", since=since)


def test_other_rules_have_their_text() -> None:
    class Never(Rule):
        __slots__ = ()

        def after(self, moment: float) -> float | None:
            return None

    never = Never("never", 0.0)
    assert words(never) == "never"
    assert never.after(0.0) is None
