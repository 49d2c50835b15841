"""What held when, as far as what was noted says so; and what is said where it does not."""

from __future__ import annotations

from math import inf

import pytest

from dibs.model.eras import absences, era, freezes, over, pauses, silences
from dibs.model.facts import Facts, lasting
from dibs.model.job import Gone, Job, Pause, Terms
from dibs.model.record import Act, Record
from dibs.model.why import why

MINUTE, HOUR = "every 60s", "every 3600s"
JOB = Job("report", 1, 3, HOUR, Terms(), 7200.0, defined_at=100.0)
ADDED = Act("added", 100.0, "ann", version=1, told=MINUTE)
CHANGED = Act("changed", 500.0, "eve", version=2, told=HOUR, was=MINUTE)
REMOVED = Act("removed", 900.0, "eve", version=3, told=HOUR)


class TestRules:
    @pytest.mark.parametrize(
        ("at", "how", "rule"),
        [(50.0, "not yet", ""), (100.0, "due", MINUTE), (500.0, "due", HOUR), (950.0, "gone", HOUR)],
    )
    def test_each_holds_until_the_next(self, at: float, how: str, rule: str) -> None:
        held = era(JOB, [ADDED, CHANGED, REMOVED], at)
        assert (held.how, held.rule) == (how, rule)

    def test_what_was_before_the_first_that_is_known_is_what_it_says(self) -> None:
        assert era(JOB, [CHANGED], 50.0).rule == MINUTE
        assert era(JOB, [REMOVED], 50.0).rule == HOUR

    def test_other_terms_say_that_the_rule_was_the_same_before(self) -> None:
        terms = Act("changed", 800.0, "eve", version=1, told=HOUR)
        assert (era(JOB, [terms], 50.0).rule, era(JOB, [CHANGED, terms], 850.0).since) == (HOUR, 500.0)

    def test_where_nothing_was_noted_the_sheet_says_what_holds_since_it_was_defined(self) -> None:
        assert (era(JOB, [], 100.0).how, era(JOB, [], 100.0).rule) == ("due", HOUR)
        assert era(JOB, [], 99.0).how == era(None, [], 100.0).how == "unknown"
        gone = Job("report", 1, 3, HOUR, Terms(), None, defined_at=100.0, gone=Gone("retired", 900.0))
        assert (era(gone, [], 899.0).how, era(gone, [], 900.0).how) == ("due", "gone")

    def test_a_rule_has_no_tick_before_it_held(self) -> None:
        held = era(JOB, [ADDED], 119.0)
        assert (held.last_tick(119.0), held.last_tick(120.0)) == (None, 120.0)


class TestSpans:
    def test_a_pause_ends_with_its_time_or_when_somebody_says_so(self) -> None:
        acts = [
            Act("paused", 10.0, "eve", until=50.0),
            Act("resumed", 20.0, "ann"),
            Act("paused", 30.0, "eve", until=50.0),
        ]
        assert [(span.since, span.until) for span in pauses(None, acts)] == [(10.0, 20.0), (30.0, 50.0)]

    def test_one_that_only_the_sheet_knows_counts_once(self) -> None:
        paused = Job("report", 1, 3, HOUR, Terms(), None, pause=Pause("eve", 30.0, "holidays", 50.0))
        [known] = pauses(paused, [])
        assert (known.since, known.until, known.by, known.reason) == (30.0, 50.0, "eve", "holidays")
        [known] = pauses(paused, [Act("paused", 30.0, "eve", until=50.0)])
        assert known.act is not None

    def test_so_does_a_freeze(self) -> None:
        [known] = freezes(Pause("eve", 30.0), [])
        assert (known.since, known.until) == (30.0, inf)
        assert len(freezes(Pause("eve", 30.0), [Act("frozen", 30.0, "eve")])) == 1

    def test_the_last_that_covers_a_moment_is_told(self) -> None:
        acts = [Act("silent", at, by, since=at - 10.0, until=at) for at, by in ((50.0, "ann"), (55.0, "bob"))]
        told = silences(acts)
        assert [span.by if (span := over(told, at)) else None for at in (39.0, 40.0, 50.0, 55.0, 56.0)] == [
            None,
            "ann",
            "bob",
            "bob",
            None,
        ]
        assert over(told, 39.0, slack=1.0) == told[0]

    def test_before_the_first_node_there_was_none(self) -> None:
        [told] = absences([Act("unattended", 50.0, "ann", until=50.0)])
        assert told.covers(0.0)
        assert lasting(told) == "before 1970-01-01 00:00:50 UTC"


class TestWhatIsMissing:
    def test_who_removed_it_is_not_known(self) -> None:
        gone = Job("report", 1, 3, MINUTE, Terms(), None, defined_at=1.0, gone=Gone("retired", 90.0))
        told = why(Facts("report", 120.0, 500.0, gone))
        assert told.verdict == "gone"
        assert told.words == (
            "The tick of 1970-01-01 00:02:00 UTC was not run: the schedule was retired at 1970-01-01 00:01:30 UTC."
        )

    def test_nothing_was_noted(self) -> None:
        told = why(Facts("report", 3600.0, 4000.0, JOB))
        assert (told.verdict, told.tick) == ("unknown", 3600.0)
        assert told.words.startswith("Nothing was noted of the tick of 1970-01-01 01:00:00 UTC")

    def test_its_sheet_is_gone_and_only_its_history_is_there(self) -> None:
        told = why(Facts("report", 3600.0, 4000.0, acts=[Act("added", 1.0, "ann", told=HOUR)], reaches_back=False))
        assert told.verdict == "unknown"
        assert told.words.endswith("its history is over.")

    def test_runs_that_had_ended_by_then_were_not_in_its_way(self) -> None:
        late = Record(3600.0, "ok", 3700.0, node="ann", started_at=3690.0, ended_at=3700.0)
        before = Record(0.0, "ok", 10.0, node="ann", started_at=1.0, ended_at=10.0)
        told = why(Facts("report", 3600.0, 4000.0, JOB, nearest=late, records=[late], earlier=[before]))
        assert told.verdict == "ran late"
        assert told.words.endswith("What kept the nodes from it is not recorded.")

    def test_of_a_backfill_alone_that_is_told(self) -> None:
        filled = Record(3600.0, "skipped", 4000.0, "another has the lock", source="backfill")
        told = why(Facts("report", 3600.0, 4000.0, JOB, records=[filled]))
        assert (
            told.words == "The tick of 1970-01-01 01:00:00 UTC was filled in: skipped after 0ms: another has the lock."
        )

    def test_what_was_before_it_was_added_anew_is_not_known(self) -> None:
        told = why(Facts("report", 120.0, 5000.0, JOB, acts=[Act("added", 4000.0, "eve", version=3, told=HOUR)]))
        assert told.verdict == "no tick"
