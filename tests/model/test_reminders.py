"""What nodes tell a store that does not know what they did, or not any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dibs.flows.marks import MOST_BEGUN, Marks
from dibs.model.job import Backfill, Job, Run, Terms
from dibs.model.record import Record
from dibs.model.reminders import FORGOTTEN, adopted, bygone, passed, raised
from dibs.model.rota import Step
from tests.model.schedules import running, told

NOW = 1_800_000_000.0


def job(*runs: Run, next_due: float | None = NOW + 60, **terms: Any) -> Job:
    return Job("report", 7, 1, "every 60s", Terms(**terms), next_due, runs)


def overdue(*runs: Run, **terms: Any) -> Job:
    """The store believes that its tick has yet to be dealt with."""
    return job(*runs, next_due=NOW, **terms)


def begun(attempt: int = 1, *, owner: str = "me") -> Run:
    run = Run(NOW, attempt, owner=owner, node=f"{owner}'s", fence=5, started_at=NOW)
    return replace(run, expires_at=NOW + 30)


class TestRaising:
    def test_a_store_that_forgot_is_told_what_was_dealt_with(self) -> None:
        assert raised(job(next_due=NOW - 60), 1, NOW).next_due == NOW + 60

    def test_it_never_lowers_and_knows_nothing_of_other_versions(self) -> None:
        for known in (job(next_due=NOW + 60), job(next_due=None), replace(overdue(), version=2)):
            assert raised(known, 1, NOW) == known

    def test_a_backfill_is_not_raised_beyond_its_end(self) -> None:
        beside = replace(job(next_due=NOW - 60), backfill=Backfill(NOW, 2, "ann", NOW))
        assert [raised(beside, 1, tick).next_due for tick in (NOW - 60, NOW, NOW + 60)] == [NOW, None, None]


class TestWhatHasEnded:
    def test_an_attempt_that_was_begun_is_not_begun_again(self) -> None:
        step = bygone(job(Run(NOW, 2), Run(NOW - 60)), begun(2), now=NOW + 9)
        assert step.job.runs == (Run(NOW - 60),)
        [record] = step.records
        assert (record.outcome, record.attempt, record.node, record.reason) == ("lost", 2, "me's", FORGOTTEN)

    def test_nor_is_one_before_it_still_under_way(self) -> None:
        for before in (begun(1, owner="ann"), begun(2, owner="ann")):
            assert not bygone(job(replace(before, fence=4)), begun(2), now=NOW).job.runs

    def test_what_the_store_knows_better_stays(self) -> None:
        for known in (Run(NOW, 3), replace(begun(2, owner="ann"), fence=6), begun(2), Run(NOW + 60)):
            assert bygone(job(known), begun(2), now=NOW).job.runs == (known,)


class TestWhatIsUnderWay:
    def test_it_is_leased_again_with_its_fence(self) -> None:
        told = adopted(job(Run(NOW)), begun(), now=NOW + 9, ttl=30.0)
        assert told.runs == (replace(begun(), expires_at=NOW + 39),)

    def test_what_another_node_was_given_meanwhile_is_its_own(self) -> None:
        for theirs in (replace(begun(owner="ann"), fence=6), Run(NOW, 2)):
            assert adopted(job(theirs), begun(), now=NOW + 9, ttl=30.0).runs == (theirs,)

    @pytest.mark.parametrize("source", ["trigger", "backfill"])
    def test_so_it_is_with_what_somebody_has_asked_for(self, source: Any) -> None:
        mine = replace(begun(), source=source)
        theirs = replace(begun(owner="ann"), source=source, fence=6)
        assert adopted(job(theirs), mine, now=NOW + 9, ttl=30.0).runs == (theirs,)
        assert adopted(job(Run(NOW, source=source)), mine, now=NOW + 9, ttl=30.0).runs == (
            replace(mine, expires_at=NOW + 39),
        )

    def test_what_is_of_another_source_is_another_run(self) -> None:
        asked = replace(begun(owner="ann"), source="trigger", fence=6)
        assert adopted(job(asked), begun(), now=NOW + 9, ttl=30.0).runs[0] == asked
        assert bygone(job(Run(NOW, source="trigger")), begun(), now=NOW).job.runs == (Run(NOW, source="trigger"),)


class TestOutages:
    def test_what_was_begun_without_the_store_is_leased_and_its_tick_is_dealt_with(self) -> None:
        loose = Run(NOW, source="outage", owner="me", node="here", started_at=NOW)
        after = adopted(overdue(running(), Run(NOW), Run(NOW - 30)), loose, now=NOW + 5, ttl=30.0)
        assert after.runs == (running(), Run(NOW - 30), replace(loose, expires_at=NOW + 35))
        assert after.next_due == NOW + 60

    def test_told_twice_it_is_there_once(self) -> None:
        loose = Run(NOW, source="outage", owner="me", node="here", started_at=NOW)
        once = adopted(overdue(), loose, now=NOW + 5, ttl=30.0)
        again = adopted(once, loose, now=NOW + 7, ttl=30.0)
        assert again.runs == (replace(loose, expires_at=NOW + 37),)

    def test_ticks_that_were_not_run_are_noted_once(self) -> None:
        records = [Record(tick, "missed", NOW + 90, source="outage") for tick in (NOW - 60, NOW, NOW + 60)]
        step = passed(overdue(), records, now=NOW + 90)
        assert (list(step.records), step.job.next_due) == (records[1:], NOW + 120)
        again = passed(step.job, records, now=NOW + 90)
        assert (list(again.records), again.job) == ([], step.job)
        assert passed(job(next_due=None), records, now=NOW + 90).records == ()

    def test_a_tick_between_that_nobody_tells_of_was_missed(self) -> None:
        records = [Record(NOW + 120, "skipped", NOW + 130, source="outage")]
        step = passed(overdue(catch_up="all"), records, run=[NOW], now=NOW + 150)
        assert told(step) == [(NOW + 60, "missed", True), (NOW + 120, "skipped", True)]
        assert step.records[0].reason == "the store was silent, and a later one was run without it"
        assert step.job.next_due == NOW + 180

    def test_what_has_not_come_by_the_store_s_clock_comes(self) -> None:
        records = [Record(NOW + 60, "missed", NOW + 60, source="outage")]
        assert passed(overdue(), records, now=NOW + 59) == Step(overdue())
        early = Run(NOW + 60, source="outage", owner="me", node="here", started_at=NOW + 60)
        assert adopted(overdue(), early, now=NOW + 59, ttl=30.0).next_due == NOW


class TestMarks:
    def test_nothing_is_told_to_a_store_that_has_forgotten_nothing(self) -> None:
        marks = Marks()
        marks.note_tick(job(), NOW, now=NOW)
        marks.note_begun("report", begun())
        assert marks.names == ["report"]
        assert marks.reminded(job(), (), NOW) is None

    def test_ticks_are_raised_and_never_lowered(self) -> None:
        marks = Marks()
        marks.note_tick(job(next_due=NOW + 120), NOW + 60, now=NOW + 60)
        marks.note_tick(job(), NOW, now=NOW + 60)
        marks.note_tick(job(), NOW + 600, now=NOW + 600)
        assert marks.remembered(job()).next_due == NOW + 120
        assert marks.remembered(replace(job(), version=2)).next_due == NOW + 60

    def test_what_has_not_come_by_the_store_s_clock_was_not_dealt_with(self) -> None:
        marks = Marks()
        marks.note_tick(job(next_due=None), NOW + 60, now=NOW + 59)
        assert marks.remembered(job()) == job()
        marks.note_tick(job(next_due=None), NOW + 60, now=NOW + 60)
        assert marks.remembered(job()).next_due == NOW + 120

    def test_what_is_still_under_way_is_not_given_up(self) -> None:
        marks = Marks()
        marks.note_begun("report", begun())
        assert marks.reminded(job(Run(NOW)), {"me"}, NOW) is None
        step = marks.reminded(job(Run(NOW)), (), NOW)
        assert step is not None
        assert [record.outcome for record in step.records] == ["lost"]

    def test_only_what_was_begun_lately_is_remembered(self) -> None:
        marks = Marks()
        for number in range(MOST_BEGUN + 1):
            marks.note_begun("report", replace(begun(), tick=NOW + number, owner=f"me-{number}"))
        assert marks.reminded(job(Run(NOW)), (), NOW) is None
