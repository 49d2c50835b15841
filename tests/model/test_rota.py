"""What may happen to a job and its runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dibs.model.job import Job, Run, Terms
from dibs.model.record import Record
from dibs.model.rota import (
    SHUT_DOWN,
    Ending,
    Step,
    advanced,
    handed_back,
    kept,
    settled,
)

NOW = 1_800_000_000.0
OK = Ending("ok", result="1")


def job(*runs: Run, next_due: float | None = NOW, **terms: Any) -> Job:
    return Job("report", 7, 1, "every 60s", Terms(**terms), next_due, runs)


def running(tick: float = NOW - 60, *, owner: str = "ann", until: float = NOW + 30, **more: Any) -> Run:
    return Run(tick, owner=owner, node=f"{owner}'s", fence=5, started_at=tick, expires_at=until, **more)


def at(job: Job, now: float = NOW) -> Step:
    return advanced(job, now=now, owner="me", node="here")


def told(step: Step | None) -> list[tuple[float, str, bool]]:
    assert step is not None
    return [(record.tick, record.outcome, record.is_last) for record in step.records]


class TestTicks:
    def test_a_tick_is_dealt_with_and_begun_in_one_step(self) -> None:
        step = at(job())
        assert step.begun == Run(
            NOW, not_before=NOW, owner="me", node="here", started_at=NOW, expires_at=NOW + 30, fence=0
        )
        assert (step.job.runs, step.job.next_due, step.through) == ((step.begun,), NOW + 60, NOW)
        assert step.records == ()

    def test_before_it_comes_nothing_happens(self) -> None:
        step = at(job(), NOW - 1)
        assert (step.job, step.begun, step.records, step.through) == (job(), None, (), None)

    def test_every_tick_that_is_not_run_is_noted(self) -> None:
        step = at(job(next_due=NOW - 180))
        assert told(step) == [(NOW - 180, "missed", True), (NOW - 120, "missed", True), (NOW - 60, "missed", True)]
        assert all(record.reason for record in step.records)
        assert step.begun is not None
        assert (step.begun.tick, step.job.next_due) == (NOW, NOW + 60)

    def test_all_that_are_caught_up_with_are_run_one_after_the_other(self) -> None:
        step = at(job(next_due=NOW - 120, catch_up="all"))
        assert [run.tick for run in step.job.runs] == [NOW - 120, NOW - 60, NOW]
        assert step.begun == step.job.runs[0]
        assert at(step.job).begun is None
        done = settled(step.job, "me", OK, now=NOW + 1)
        assert done is not None
        assert done.job.acts_at() == NOW
        assert (at(done.job, NOW + 1).begun or Run(0)).tick == NOW - 60

    def test_after_a_step_there_is_nothing_left_to_do_by_now(self) -> None:
        for overlap in ("skip", "queue", "cancel", "allow"):
            for runs in ((), (running(),), (running(until=NOW),), (Run(NOW - 60, not_before=NOW + 5),)):
                before, begun = job(*runs, overlap=overlap, next_due=NOW - 60), 0
                while (acts_at := before.acts_at()) is not None and acts_at <= NOW:
                    step = at(before)
                    begun += step.begun is not None
                    assert begun < 4
                    before = step.job


class TestOverlap:
    def test_a_tick_is_skipped_while_the_one_before_is_run(self) -> None:
        step = at(job(running()))
        assert told(step) == [(NOW, "skipped", True)]
        assert step.records[0].reason.endswith("had not ended: attempt 1, on ann's")
        assert (step.job.runs, step.job.next_due) == ((running(),), NOW + 60)

    def test_or_while_it_is_to_be_tried_again(self) -> None:
        step = at(job(Run(NOW - 60, 2, not_before=NOW + 5)))
        assert told(step) == [(NOW, "skipped", True)]
        assert step.records[0].reason.endswith("attempt 2, to be tried again")

    def test_one_tick_waits_if_one_is_to(self) -> None:
        step = at(job(running(until=NOW + 99), overlap="queue"))
        assert ([run.tick for run in step.job.waiting], step.begun) == ([NOW], None)
        later = at(step.job, NOW + 60)
        assert told(later) == [(NOW + 60, "skipped", True)]
        assert later.records[0].reason == "another one waits already: the run of 2027-01-15 08:00:00 UTC"

    def test_of_several_that_come_at_once_one_waits(self) -> None:
        step = at(job(running(NOW - 180), overlap="queue", catch_up="all", next_due=NOW - 60))
        assert ([run.tick for run in step.job.waiting], told(step)) == ([NOW - 60], [(NOW, "skipped", True)])

    def test_the_one_that_waits_is_begun_when_the_other_has_ended(self) -> None:
        step = at(job(running(), overlap="queue"))
        ended = settled(step.job, "ann", OK, now=NOW + 1)
        assert ended is not None
        assert ended.job.acts_at() == NOW
        assert (at(ended.job, NOW + 1).begun or Run(0)).tick == NOW

    def test_the_old_one_is_asked_to_stop_if_the_new_one_goes_before(self) -> None:
        step = at(job(running(), Run(NOW - 90, 2, not_before=NOW + 5), overlap="cancel"))
        assert told(step) == [(NOW - 90, "cancelled", True)]
        assert [(run.tick, bool(run.cancelled_by)) for run in step.job.runs] == [(NOW - 60, True), (NOW, False)]
        assert step.begun is None
        assert step.job.runs[0].cancelled_by == step.records[0].reason

    def test_its_failure_is_not_tried_again_then_and_says_why(self) -> None:
        stopped = at(job(running(), overlap="cancel", retries=3)).job
        done = settled(stopped, "ann", Ending("failed"), now=NOW + 1)
        assert told(done) == [(NOW - 60, "failed", True)]
        assert done is not None
        assert "came" in done.records[0].reason

    def test_it_is_asked_once(self) -> None:
        first = at(job(running(until=NOW + 99), overlap="cancel")).job
        second = at(first, NOW + 60)
        assert second.job.runs[0] == first.runs[0]
        assert told(second) == [(NOW, "cancelled", True)]

    def test_several_are_run_at_once_if_they_may(self) -> None:
        step = at(job(running(), overlap="allow"))
        assert [run.owner for run in step.job.running] == ["ann", "me"]


class TestDeadNodes:
    def test_what_may_be_begun_once_is_lost_with_its_node(self) -> None:
        step = at(job(running(until=NOW), next_due=NOW + 60))
        assert told(step) == [(NOW - 60, "lost", True)]
        [record] = step.records
        assert (record.node, record.fence, record.reason) == ("ann's", 5, "its node did not renew it in time")
        assert (step.job.runs, step.begun) == ((), None)

    def test_what_may_be_begun_more_often_is_begun_again_by_the_same_step(self) -> None:
        step = at(job(running(until=NOW), next_due=NOW + 60, max_attempts=2))
        assert told(step) == [(NOW - 60, "lost", False)]
        assert step.begun is not None
        assert (step.begun.tick, step.begun.attempt, step.begun.owner) == (NOW - 60, 2, "me")
        over = at(replace(step.job, runs=(replace(step.begun, expires_at=NOW),)))
        assert told(over) == [(NOW - 60, "lost", True)]

    def test_one_that_was_to_stop_is_not(self) -> None:
        step = at(job(running(until=NOW, cancelled_by="a newer one"), next_due=NOW + 60, max_attempts=2))
        assert told(step) == [(NOW - 60, "lost", True)]

    def test_as_long_as_it_is_renewed_it_lives(self) -> None:
        alive = kept(
            job(running(until=NOW), next_due=NOW + 60), "ann", now=NOW - 1, ttl=30.0, progress=0.5, note="half"
        )
        assert alive is not None
        assert (alive.runs[0].expires_at, alive.runs[0].progress, alive.runs[0].note) == (NOW + 29, 0.5, "half")
        assert at(alive).records == ()
        assert kept(alive, "bob", now=NOW, ttl=30.0) is None


class TestEndings:
    def test_what_came_of_it_is_noted(self) -> None:
        done = settled(job(running()), "ann", Ending("ok", result="[1]", log=("a", "b")), now=NOW)
        assert done is not None
        assert done.job.runs == ()
        assert done.records == [
            Record(
                NOW - 60, "ok", NOW, node="ann's", fence=5, started_at=NOW - 60, ended_at=NOW, result="[1]",
                log=("a", "b"),
            )
        ]  # fmt: skip

    def test_who_has_lost_it_says_nothing_of_it(self) -> None:
        assert settled(job(running()), "bob", OK, now=NOW) is None
        assert settled(job(), "ann", OK, now=NOW) is None

    @pytest.mark.parametrize("outcome", ["failed", "timeout"])
    def test_a_failure_is_tried_again_after_a_pause_that_doubles(self, outcome: Any) -> None:
        before = job(running(), retries=2, retry_delay=10.0, next_due=None)
        pauses = list[float]()
        for attempt in (1, 2):
            step = settled(before, before.running[0].owner, Ending(outcome, error="boom"), now=NOW)
            assert told(step) == [(NOW - 60, outcome, False)]
            assert step is not None
            [run] = step.job.waiting
            assert (run.attempt, run.owner, run.fence) == (attempt + 1, "", 0)
            pauses.append(run.not_before - NOW)
            assert at(step.job, run.not_before - 1).begun is None
            before = at(step.job, run.not_before).job
        assert pauses == [10.0, 20.0]
        assert told(settled(before, "me", Ending(outcome), now=NOW)) == [(NOW - 60, outcome, True)]

    def test_the_longest_pause_is_an_hour(self) -> None:
        step = settled(job(running(failures=60), retries=99), "ann", Ending("failed"), now=NOW)
        assert step is not None
        assert step.job.waiting[0].not_before == NOW + 3600

    @pytest.mark.parametrize("outcome", ["skipped", "cancelled", "lost"])
    def test_nothing_else_is(self, outcome: Any) -> None:
        assert told(settled(job(running(), retries=2), "ann", Ending(outcome, "why"), now=NOW)) == [
            (NOW - 60, outcome, True)
        ]


class TestHandingBack:
    def test_what_was_not_begun_is_another_s_at_once_as_if_nothing_had_been(self) -> None:
        step = handed_back(job(running(attempt=2), next_due=None), "ann", now=NOW, has_begun=False)
        assert step is not None
        assert step.job.runs == (Run(NOW - 60, 2, not_before=NOW),)
        assert (step.records, step.job.acts_at()) == ((), NOW)

    def test_what_was_begun_is_begun_again_only_if_it_may(self) -> None:
        for max_attempts, is_last in ((1, True), (2, False)):
            step = handed_back(job(running(), max_attempts=max_attempts), "ann", now=NOW, has_begun=True)
            assert told(step) == [(NOW - 60, "lost", is_last)]
            assert step is not None
            assert step.records[0].reason == SHUT_DOWN
            assert len(step.job.waiting) == (not is_last)

    def test_what_is_not_there_cannot_be(self) -> None:
        assert handed_back(job(), "ann", now=NOW, has_begun=True) is None
