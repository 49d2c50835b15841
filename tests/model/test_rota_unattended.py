"""What becomes of a job that nobody can run, and of what was asked for beside its ticks."""

from __future__ import annotations

from dataclasses import replace

from dibs.model.job import Backfill, Gone, Job, Run, Terms
from dibs.model.reminders import adopted
from dibs.model.rota import unattended
from tests.model.schedules import NOW, job, running, told


class TestNobodyCanRunIt:
    def test_ticks_that_may_not_be_begun_any_more_were_missed(self) -> None:
        step = unattended(job(next_due=NOW - 180, terms=Terms(grace=90.0)), "no live node can do it", now=NOW)
        assert told(step) == [(NOW - 180, "missed", True), (NOW - 120, "missed", True)]
        assert step is not None
        assert {record.reason for record in step.records} == {"no live node can do it"}
        assert (step.job.next_due, step.begun, step.through) == (NOW - 60, None, None)

    def test_the_others_may_yet_be(self) -> None:
        for known in (job(next_due=NOW - 90, terms=Terms(grace=90.0)), job(next_due=NOW + 60), job(next_due=None)):
            assert unattended(known, "why", now=NOW) is None

    def test_also_if_thousands_came_since_that_are_still_in_time(self) -> None:
        behind = Job("report", 7, 1, "every 1s", Terms(), NOW - 3610)
        step = unattended(behind, "why", now=NOW)
        assert step is not None
        assert [record.tick for record in step.records] == [NOW - 3610 + number for number in range(10)]
        assert step.job.next_due == NOW - 3600

    def test_of_very_many_the_first_are_told_together(self) -> None:
        behind = Job("report", 7, 1, "every 1s", Terms(grace=0.0), NOW - 3000)
        step = unattended(behind, "why", now=NOW)
        assert step is not None
        assert (step.records[0].since, step.job.next_due) == (NOW - 3000, NOW)
        assert len(step.records) <= 1_001

    def test_a_backfill_waits_for_who_can(self) -> None:
        beside = replace(job(next_due=NOW - 9e6), backfill=Backfill(NOW, 2, "ann", NOW))
        assert unattended(beside, "why", now=NOW) is None

    def test_runs_of_dead_nodes_are_lost_all_the_same(self) -> None:
        step = unattended(job(running(until=NOW), next_due=None), "why", now=NOW)
        assert told(step) == [(NOW - 60, "lost", True)]
        again = unattended(job(running(until=NOW), next_due=None, terms=Terms(max_attempts=2)), "why", now=NOW)
        assert told(again) == [(NOW - 60, "lost", False)]
        assert again is not None
        assert ([run.attempt for run in again.job.waiting], again.begun) == ([2], None)
        assert unattended(again.job, "why", now=NOW) is None

    def test_and_what_is_gone_is_thrown_away(self) -> None:
        retired = replace(job(next_due=None, terms=Terms(keep_for=60.0)), gone=Gone("retired", NOW))
        assert unattended(retired, "why", now=NOW + 59) is None
        step = unattended(retired, "why", now=NOW + 60)
        assert step is not None
        assert step.is_thrown_away


class TestWhatWasAskedFor:
    def test_it_is_no_tick_and_its_adoption_deals_with_none(self) -> None:
        asked = replace(running(NOW), source="trigger")
        assert adopted(job(next_due=NOW), asked, now=NOW, ttl=30.0).next_due == NOW
        assert adopted(job(next_due=NOW), running(NOW), now=NOW, ttl=30.0).next_due == NOW + 60

    def test_a_tick_of_the_same_moment_is_another_run(self) -> None:
        asked, tick = Run(NOW, source="trigger"), Run(NOW)
        loose = Run(NOW, source="outage", owner="me", node="here", started_at=NOW)
        assert asked in adopted(job(asked, tick), loose, now=NOW, ttl=30.0).runs
        assert tick not in adopted(job(asked, tick), loose, now=NOW, ttl=30.0).runs
