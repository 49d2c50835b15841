"""How expressions are read, which are refused, and what the refusal says."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest

from dibs.model.calendar import Cron, Every, Rule, cron, every, rule_of
from tests.model.calendar.moments import moment, upcoming

MONDAY = moment("2026-06-01 00:00")


def days(expression: str, count: int, *, since: str = "2026-01-01") -> list[str]:
    return [f"{at:%m-%d}" for at in islice(upcoming(cron(expression), moment(since) - 1), count)]


def times(expression: str, count: int, *, seconds: bool = False) -> list[str]:
    rule = cron(expression, seconds=seconds)
    return [f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}" for at in islice(upcoming(rule, MONDAY - 1), count)]


class TestWhatIsRead:
    def test_numbers_ranges_lists_and_steps(self) -> None:
        assert times("5 3 * * *", 2) == ["03:05", "03:05"]
        assert times("0 1-3 * * *", 4) == ["01:00", "02:00", "03:00", "01:00"]
        assert times("10,20 4,6 * * *", 4) == ["04:10", "04:20", "06:10", "06:20"]
        assert times("*/20 0 * * *", 4) == ["00:00", "00:20", "00:40", "00:00"]
        assert times("10-40/15 0 * * *", 4) == ["00:10", "00:25", "00:40", "00:10"]
        assert times("*/30,7 0 * * *", 3) == ["00:00", "00:07", "00:30"]

    def test_names_in_any_case(self) -> None:
        assert cron("0 0 * JAN-mar mOn,fri") == cron("0 0 * 1-3 1,5")

    def test_sunday_is_zero_and_seven_and_ends_a_week(self) -> None:
        assert cron("0 0 * * 7") == cron("0 0 * * 0") == cron("0 0 * * sun")
        assert cron("0 0 * * sat-sun") == cron("0 0 * * 6-7")
        assert days("0 0 * * 6-7", 3) == ["01-03", "01-04", "01-10"]
        assert days("0 0 * * 5-7", 3, since="2026-01-02") == ["01-02", "01-03", "01-04"]
        assert days("0 0 * * sun-mon", 3) == ["01-04", "01-05", "01-11"]

    def test_a_day_of_the_month_and_one_of_the_week_are_either(self) -> None:
        assert days("0 0 13 * 5", 4, since="2026-06-10") == ["06-12", "06-13", "06-19", "06-26"]

    def test_a_field_that_begins_with_a_star_is_no_choice(self) -> None:
        assert days("0 0 */2 * 1", 3) == ["01-05", "01-19", "02-09"]
        assert days("0 0 1-7 * */6", 3) == ["01-03", "01-04", "02-01"]

    def test_days_that_depend_on_the_month(self) -> None:
        assert days("0 0 L * *", 3) == ["01-31", "02-28", "03-31"]
        assert days("0 0 LW * *", 3) == ["01-30", "02-27", "03-31"]
        assert days("0 0 L 2 *", 3, since="2027-01-01") == ["02-28", "02-29", "02-28"]
        assert days("0 0 * * 5#2", 3) == ["01-09", "02-13", "03-13"]
        assert days("0 0 * * fri#5", 2) == ["01-30", "05-29"]
        assert days("0 0 * * 5L", 3) == ["01-30", "02-27", "03-27"]
        assert days("0 0 * * sunL,7#1", 3) == ["01-04", "01-25", "02-01"]
        assert days("0 0 1,L * *", 3) == ["01-01", "01-31", "02-01"]

    def test_the_weekday_that_is_nearest_stays_within_the_month(self) -> None:
        assert days("0 0 15W * *", 3, since="2026-02-01") == ["02-16", "03-16", "04-15"]
        assert days("0 0 15w 8 *", 1) == ["08-14"]
        assert days("0 0 1W 8 *", 1) == ["08-03"]
        assert days("0 0 31W 5 *", 1) == ["05-29"]
        assert days("0 0 31W * *", 3) == ["01-30", "03-31", "05-29"]

    def test_seconds_come_first_if_asked_for(self) -> None:
        assert times("*/20 30 2 * * *", 4, seconds=True) == ["02:30:00", "02:30:20", "02:30:40", "02:30:00"]
        assert times("15 59 23 * * *", 1, seconds=True) == ["23:59:15"]
        assert cron("0 */5 * * * *", seconds=True) == cron("*/5 * * * *")

    @pytest.mark.parametrize(
        ("macro", "fields"),
        [
            ("@yearly", "0 0 1 1 *"),
            ("@annually", "0 0 1 1 *"),
            ("@monthly", "0 0 1 * *"),
            ("@weekly", "0 0 * * 0"),
            ("@daily", "0 0 * * *"),
            ("@Midnight", "0 0 * * *"),
            ("@hourly", "0 * * * *"),
        ],
    )
    def test_macros_are_short_for_fields_with_seconds_too(self, macro: str, fields: str) -> None:
        assert cron(macro) == cron(fields) == cron(macro, seconds=True)

    def test_an_interval_can_be_written_as_a_macro(self) -> None:
        assert cron("@every 90s") == cron("@EVERY 1m 30s") == every("90s") == Every(90.0)

    def test_blanks_do_not_matter(self) -> None:
        assert cron("  0\t3  * * *\n") == cron("0 3 * * *")

    def test_rare_days_are_found_however_far_away(self) -> None:
        assert [at.year for at in islice(upcoming(cron("0 0 29 2 *"), moment("2095-01-01")), 2)] == [2096, 2104]
        weekends = islice(upcoming(cron("0 0 29 2 */6"), MONDAY), 4)
        assert [at.year for at in weekends] == [2032, 2048, 2060, 2076]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("expression", "names", "advises"),
        [
            ("", "''", "five fields"),
            (" \n ", "' \\n '", "five fields"),
            ("0 3 * *", "4 fields", "minute, hour, day of month, month, day of week"),
            ("3", "1 field;", "write 5"),
            ("0 0 3 * * *", "6 fields", "seconds=True"),
            ("0 0 3 * * * 2026", "7 fields", "write 5"),
            ("@reboot", "'@reboot'", "when your program starts"),
            ("@fortnightly", "'@fortnightly'", "@weekly"),
            ("@daily 3", "'@daily 3'", "without further fields"),
            ("0 0 31 2 *", "day of month '31', month '2'", "write 'L'"),
            ("0 0 30,31 feb *", "day of month '30,31'", "write 'L'"),
            ("0 0 31 2,4,6,9,11 *", "day of month '31'", "write 'L'"),
            ("0 0 30W 2 *", "'30W'", "write 'L'"),
            ("0 22-2 * * *", "hour '22-2'", "write '22-23,0-2'"),
            ("0 0 * * fri-mon", "day of week 'FRI-MON'", "write '5-6,0-1'"),
            ("0 0 * 11-2 *", "month '11-2'", "write '11-12,1-2'"),
            ("5/15 * * * *", "minute '5/15'", "write '5-59/15' or '*/15'"),
            ("59/15 * * * *", "minute '59/15'", "write '59' or '*/15'"),
            ("1/ * * * *", "minute '1/'", "whole number"),
            ("*/90 * * * *", "minute '*/90'", "'@every 90m'"),
            ("0 */24 * * *", "hour '*/24'", "'@every 24h'"),
            ("10-20/15 * * * *", "minute '10-20/15'", "write '10'"),
            ("0 0 * * */7", "day of week '*/7'", "write '0'"),
            ("*/0 * * * *", "minute '*/0'", "from 1 on"),
            ("*/x * * * *", "minute '*/X'", "from 1 on"),
            ("60 * * * *", "minute '60'", "from 0 to 59"),
            ("0 24 * * *", "hour '24'", "from 0 to 23"),
            ("0 0 0 * *", "day of month '0'", "from 1 to 31"),
            ("0 0 * 13 *", "month '13'", "from 1 to 12, or jan to dec"),
            ("0 0 * * 8", "day of week '8'", "from 0 to 7, or sun to sat"),
            ("0 0 * * monday", "day of week 'MONDAY'", "or sun to sat"),
            ("0 0 * mon *", "month 'MON'", "or jan to dec"),
            ("0 0 ? * *", "day of month '?'", "write '*'"),
            ("H * * * *", "minute 'H'", "jitter="),
            ("0 0 * * L", "day of week 'L'", "'5L'"),
            ("0 0 * * 5#6", "day of week '5#6'", "from 1 to 5"),
            ("0 0 32W * *", "day of month '32W'", "from 1 to 31"),
            ("L * * * *", "minute 'L'", "from 0 to 59"),
            ("1,,2 * * * *", "minute ''", "missing"),
            ("1-2-3 * * * *", "minute '1-2-3'", "from 0 to 59"),
            ("- * * * *", "minute '-'", "missing"),
            ("*-5 * * * *", "minute '*-5'", "from 0 to 59"),
            ("+5 * * * *", "minute '+5'", "from 0 to 59"),
            ("1,* * * * *", "minute '1,*'", "write it alone"),
            ("*,1 * * * *", "minute '*,1'", "write it alone"),
            ("7,*/5 * * * *", "minute '7,*/5'", "write the star first: '*/5,7'"),
            ("*/5,*/7 * * * *", "minute '*/5,*/7'", "ranges"),
            ("٣ * * * *", "'٣ * * * *'", "digits 0 to 9"),
            ("² * * * *", "'² * * * *'", "digits 0 to 9"),
            ("@every", "every: ''", "'90s'"),
            ("@every soon", "every: 'soon'", "'90s'"),
            ("@every 500ms", "0.5s", "from 1s"),
            ("@every 400d", "3.456e+07s", "to 366d"),
        ],
    )
    def test_with_its_field_its_value_and_what_to_write(self, expression: str, names: str, advises: str) -> None:
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - its text is looked at
            cron(expression)
        assert names in str(refused.value)
        assert advises in str(refused.value)

    def test_five_fields_where_seconds_are_wanted(self) -> None:
        with pytest.raises(ValueError, match=r"5 fields; with seconds=True .* put '0' before"):
            cron("*/5 * * * *", seconds=True)
        with pytest.raises(ValueError, match="4 fields; write 6: second, minute"):
            cron("* * * *", seconds=True)

    @pytest.mark.parametrize(
        "hostile",
        [
            "9" * 5000,
            "9" * 200 + " * * * *",
            "*/" + "9" * 200 + " * * * *",
            ",".join("1" * 100) + " * * * *" + " " * 5000,
        ],
    )
    def test_what_is_very_long_and_shortly(self, hostile: str) -> None:
        with pytest.raises(ValueError, match="cron '") as refused:
            cron(hostile)
        assert len(str(refused.value)) < 300

    def test_what_is_not_text(self) -> None:
        with pytest.raises(ValueError, match="cron 5: write the expression as text"):
            cron(5)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "name",
        [
            *("Mars/Olympus", "europe/berlinn", "Europe", "", "x" * 5000, "Europe/Berlin ", "\0", "\ud800"),
            *("../../etc/passwd", "/etc/localtime", "localtime", "right/UTC"),
        ],
    )
    def test_a_zone_that_not_every_node_knows(self, name: str) -> None:
        with pytest.raises(
            ValueError, match="no such time zone is known here; name one as in 'Europe/Berlin'"
        ) as refused:
            cron("0 3 * * *", tz=name)
        assert len(str(refused.value)) < 300

    def test_a_jitter_of_more_than_a_day_or_none_at_all(self) -> None:
        with pytest.raises(ValueError, match="jitter=2d is out of range; it goes up to 1d"):
            cron("0 3 * * *", jitter="2d")
        with pytest.raises(ValueError, match="jitter: 'x' is not a duration"):
            every("90s", jitter="x")


class TestTheTextOfARule:
    @pytest.mark.parametrize(
        ("rule", "text"),
        [
            (cron("0 3 * * *", tz="Europe/Berlin", jitter="30s"), "cron 0 3 * * * Europe/Berlin jitter=30s"),
            (cron("00 03 * jan mon-FRI"), "cron 0 3 * 1 1-5 UTC"),
            (cron("*/10 0 3 LW,15w,1-5/2 * 5#2,friL", seconds=True), "cron */10 0 3 LW,15W,1-5/2 * 5#2,5L UTC"),
            (cron("@weekly", tz="America/Nuuk"), "cron 0 0 * * 0 America/Nuuk"),
            (every("90s"), "every 90s"),
            (every(1.5, jitter="250ms"), "every 1.5s jitter=0.25s"),
            (every("365d 500ms"), "every 31536000.5s"),
        ],
        ids=lambda value: value.text if isinstance(value, Rule) else "",
    )
    def test_is_one_for_all_ways_to_write_it_and_read_back(self, rule: Rule, text: str) -> None:
        assert rule.text == text
        again = rule_of(text)
        assert again == rule
        assert hash(again) == hash(rule)
        assert (again.jitter, again.after(1.8e9)) == (rule.jitter, rule.after(1.8e9))

    def test_tells_rules_apart(self) -> None:
        rules = [
            cron("0 3 * * *"),
            cron("0 3 * * *", tz="Europe/Berlin"),
            cron("0 3 * * *", jitter=1),
            cron("0 3 1-31 * *"),
            every("1d"),
        ]
        assert len(set(rules)) == len(rules)
        assert cron("0 3 * * *") != "cron 0 3 * * * UTC"

    def test_is_shown(self) -> None:
        assert repr(cron("0 3 * * *")) == "<Cron: cron 0 3 * * * UTC>"
        assert repr(every("90s")) == "<Every: every 90s>"

    def test_what_has_none_is_never_due(self) -> None:
        never = rule_of("")
        assert (never.text, never.jitter, never.after(0.0)) == ("", 0.0, None)

    @pytest.mark.parametrize("text", [" ", "0 3 * * * UTC", "cron", "cron 0 3 * * *", "every", "every x", "cron UTC"])
    def test_that_is_not_one_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"."):
            rule_of(text)


def test_whether_a_rule_is_fixed_is_said_by_its_stars() -> None:
    def is_fixed(expression: str, *, seconds: bool = False) -> bool:
        rule = cron(expression, seconds=seconds)
        assert isinstance(rule, Cron)
        return rule.is_fixed

    assert is_fixed("0-59 0-23 */2 * *")
    assert not is_fixed("*/30 2 * * *")
    assert not is_fixed("30 */2 * * *")
    assert not is_fixed("* 30 2 * * *", seconds=True)
    assert is_fixed("0 30 2 * * *", seconds=True)


def test_the_calendar_ends_before_pythons_does() -> None:
    end = datetime(9986, 1, 1, tzinfo=UTC).timestamp()
    assert cron("* * * * *").after(end) == end + 60
    assert cron("0 0 29 2 */6").after(end) is None
    assert cron("0 0 29 2 */6", tz="Europe/Berlin").after(end) is None
