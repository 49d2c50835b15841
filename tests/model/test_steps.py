"""Steps: work that is there once, is tried again by the rules of all runs, and says itself how it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dibs.model.chores import LOCKS, Chore, chore
from dibs.model.control import Refused, Word
from dibs.model.job import LEEWAY, Gone, Job, Run, Terms, belongs_to
from dibs.model.reading import job_of
from dibs.model.record import Record
from dibs.model.reminders import FORGOTTEN, bygone
from dibs.model.rota import (
    PUT_OFF,
    SHUT_DOWN,
    Ending,
    Step,
    advanced,
    concluded,
    handed_back,
    settled,
    tidied,
    unattended,
    unstopped,
)
from dibs.model.sheet import Sheet
from dibs.model.steps import Submission, sheet_of, state, step_fault, step_of, submitted

NOW = 1_800_000_000.0
WORD = Word("alice", NOW, "the shop")
SAID = Submission("charge", "order-17", Terms(retries=1, retry_delay=4.0, max_attempts=2), '{"order":17}')
KEPT_FOR = SAID.terms.keep_for
OK = Ending("ok", result="17", log=("a line",))
FAILED = Ending("failed", error="ValueError: no")


def new(**terms: Any) -> Job:
    """A step that nobody has begun."""
    step = submitted(None, replace(SAID, terms=replace(SAID.terms, **terms)), WORD)
    assert step is not None
    return replace(step.job, revision=3)


def at(job: Job, now: float = NOW, owner: str = "me") -> Job:
    """As it is when a node has done what is due about it."""
    after = advanced(job, now=now, owner=owner, node=f"{owner}'s").job
    return job_of(Sheet(after.name, job.revision + 1, after.text()))


def after(step: Step | None) -> Job:
    assert step is not None
    return step.job


class TestSubmitting:
    def test_it_is_a_sheet_of_its_own_with_one_run_that_is_due_now(self) -> None:
        step = submitted(None, SAID, WORD)
        assert step is not None
        job = step.job
        assert (job.name, job.belongs_to, job.done_by, job.is_step) == (
            "charge~step:order-17",
            "charge",
            "charge",
            True,
        )
        assert job.runs == (Run(NOW, source="step", not_before=NOW),)
        assert (job.acts_at(), job.next_due, job.arguments, job.defined_at) == (NOW, None, '{"order":17}', NOW)
        [act] = step.acts
        assert (act.act, act.by, act.reason, act.told) == ("submitted", "alice", "the shop", '{"order":17}')

    def test_the_same_again_changes_nothing_also_when_it_is_over(self) -> None:
        assert submitted(new(), SAID, WORD) is None
        over = after(settled(at(new()), "me", OK, now=NOW))
        assert submitted(over, SAID, WORD) is None

    def test_other_work_needs_another_id(self) -> None:
        with pytest.raises(Refused, match=r'it is there with other arguments, {"order":17}: give new work an id'):
            submitted(new(), replace(SAID, arguments='{"order":18}'), WORD)
        with pytest.raises(Refused, match=r"it is there with other arguments, {}: "):
            submitted(replace(new(), arguments=""), SAID, WORD)

    def test_it_is_told_apart_from_its_job_by_the_name_of_its_sheet(self) -> None:
        assert sheet_of("charge", "a~step:b") == "charge~step:a~step:b"
        assert [step_of(name) for name in ("charge~step:a~step:b", "charge", "charge~backfill")] == [
            "a~step:b",
            None,
            None,
        ]
        names = ("charge~step:a~step:b", "charge~step:x~backfill", "charge~backfill", "charge")
        assert {belongs_to(name) for name in names} == {"charge"}

    @pytest.mark.parametrize("step", ["", " a", "a\n", "x" * 201, 7])
    def test_not_every_id_will_do(self, step: object) -> None:
        assert str(step_fault(step)).startswith("a step's id ")

    def test_an_id_may_be_nearly_anything(self) -> None:
        assert [step_fault(step) for step in ("order-17", "a b", "{x}", "ä/~")] == [None] * 4


class TestItsEnd:
    def test_what_it_gave_is_on_its_sheet_and_it_is_over(self) -> None:
        job = after(settled(at(new()), "me", OK, now=NOW + 5))
        assert (job.runs, job.gone, job.acts_at()) == ((), Gone("ended", NOW + 5), NOW + 5 + KEPT_FOR)
        assert job.last is not None
        assert (job.last.result, job.last.log, job.last.fence, job.last.node) == ("17", (), 4, "me's")
        assert state(job) == "ok"
        assert job_of(Sheet(job.name, 9, job.text())) == replace(job, revision=9)

    def test_a_failure_is_on_its_sheet_too_while_it_is_to_be_tried_again(self) -> None:
        job = after(settled(at(new()), "me", FAILED, now=NOW + 5))
        assert ([run.attempt for run in job.waiting], job.gone, state(job)) == ([2], None, "due")
        assert job.last is not None
        assert (job.last.error, job.last.is_last) == ("ValueError: no", False)
        again = at(job, NOW + 9)
        assert state(again) == "running"
        over = after(settled(again, "me", FAILED, now=NOW + 10))
        assert (over.runs, over.gone, state(over)) == ((), Gone("ended", NOW + 10), "failed")

    def test_one_whose_nodes_die_is_lost_in_the_end(self) -> None:
        job = at(at(new(), owner="ann"), NOW + 30, owner="bob")
        assert [(run.attempt, run.node) for run in job.running] == [(2, "bob's")]
        assert job.last is not None
        assert (job.last.outcome, job.last.node) == ("lost", "ann's")
        over = advanced(job, now=NOW + 60, owner="me", node="here")
        assert (over.begun, over.job.gone, state(over.job)) == (None, Gone("ended", NOW + 60), "lost")
        assert after(unattended(job, "nobody can", now=NOW + 60)).gone == Gone("ended", NOW + 60)

    def test_one_that_nobody_can_do_is_looked_at_again_after_as_long_as_it_has_waited(self) -> None:
        for waited, pause in ((0.0, 1.0), (8.0, 8.0), (90.0, PUT_OFF)):
            step = unattended(new(), "nobody can", now=NOW + waited)
            assert step is not None
            assert step.job.runs == (replace(new().runs[0], not_before=NOW + waited + pause),)
            assert (step.records, step.acts, step.job.last, state(step.job)) == ((), (), None, "due")
            assert unattended(step.job, "nobody can", now=NOW + waited + pause - 0.1) is None
        assert unattended(at(new()), "nobody can", now=NOW + 9) is None, "somebody does it"

    def test_one_that_is_handed_back_is_begun_by_others(self) -> None:
        job = at(new())
        unbegun = after(handed_back(job, "me", now=NOW + 1, has_begun=False))
        assert (unbegun.waiting[0].attempt, unbegun.last, chore(unbegun, NOW + 1)) == (1, None, None)
        begun = after(handed_back(job, "me", now=NOW + 1, has_begun=True))
        assert begun.last is not None
        assert (begun.waiting[0].attempt, begun.last.reason, chore(begun, NOW + 1)) == (2, SHUT_DOWN, "resume")
        cancelled = replace(job, runs=(job.runs[0].stopped("cancelled by ann"),))
        over = after(handed_back(cancelled, "me", now=NOW + 1, has_begun=False))
        assert (state(over), over.gone) == ("cancelled", Gone("ended", NOW + 1))

    def test_what_a_store_has_forgotten_is_over_when_it_is_told(self) -> None:
        job = at(new())
        older = replace(job.runs[0], owner="", fence=0)
        over = bygone(replace(job, runs=(older,)), job.runs[0], now=NOW + 2).job
        assert over.last is not None
        assert (over.last.reason, over.gone) == (FORGOTTEN, Gone("ended", NOW + 2))

    def test_of_a_job_that_is_no_step_nothing_is_on_the_sheet(self) -> None:
        job = Job("report", 1, 1, "every 60s", Terms(), NOW)
        step = Step(job, [Record(NOW, "ok", NOW)])
        assert concluded(step, NOW) is step


class TestTakingItAway:
    def overdue(self, **terms: Any) -> Job:
        return at(new(timeout=5.0, ttl=60.0, **terms))

    def test_it_is_looked_at_when_its_node_should_have_stopped_it(self) -> None:
        assert self.overdue().acts_at() == NOW + 5 + LEEWAY
        assert at(new(timeout=None, ttl=60.0)).acts_at() == NOW + 60
        assert at(new(timeout=500.0, ttl=60.0)).acts_at() == NOW + 60

    def test_it_is_taken_away_then_and_tried_again_after_a_pause(self) -> None:
        job = self.overdue()
        step = tidied(job, now=NOW + 5 + LEEWAY)
        assert step is not None
        [record] = step.records
        assert (record.outcome, record.reason, record.fence) == ("timeout", unstopped(5.0), 4)
        assert unstopped(5.0) == "it took longer than 5s, and its node did not stop it"
        assert (step.begun, step.job.waiting[0].not_before, step.job.run_of("me")) == (None, NOW + 11, None)

    def test_not_before(self) -> None:
        assert tidied(self.overdue(), now=NOW + 5) is None
        assert tidied(at(new(timeout=None)), now=NOW + 1e6) is None

    def test_what_is_no_step_is_left_to_its_node(self) -> None:
        run = Run(NOW, owner="ann", started_at=NOW, expires_at=NOW + 1e6)
        job = Job("report", 1, 1, "every 60s", Terms(timeout=5.0), None, (run,))
        assert (job.acts_at(), tidied(job, now=NOW + 1e5)) == (NOW + 1e6, None)


class TestChores:
    def test_to_begin_it_is_none(self) -> None:
        assert chore(new(), NOW) is None
        assert chore(at(new()), NOW + 1) is None
        assert chore(Job("report", 1, 1, "every 60s", Terms(), NOW), NOW + 1e6) is None

    def test_what_failed_is_retried_when_its_pause_is_over(self) -> None:
        job = after(settled(at(new()), "me", FAILED, now=NOW))
        assert [chore(job, NOW + late) for late in (3.9, 4.0)] == [None, "retry"]
        late = after(settled(at(new()), "me", Ending("timeout"), now=NOW))
        assert chore(late, NOW + 4) == "retry"

    def test_what_a_dead_node_was_at_is_resumed(self) -> None:
        job = at(new())
        assert [chore(job, NOW + late) for late in (29.9, 30.0)] == [None, "resume"]

    def test_what_its_node_does_not_stop_is_taken_away(self) -> None:
        job = at(new(timeout=5.0))
        assert [chore(job, NOW + late) for late in (6.9, 7.0, 30.0)] == [None, "timeout", "resume"]

    def test_what_was_kept_for_long_enough_is_thrown_away(self) -> None:
        over = after(settled(at(new()), "me", OK, now=NOW))
        assert [chore(over, NOW + late) for late in (KEPT_FOR - 1, KEPT_FOR)] == [None, "cleanup"]
        assert [tidied(over, now=NOW + late) for late in (KEPT_FOR - 1, KEPT_FOR)] == [
            None,
            Step(over, is_thrown_away=True),
        ]

    @pytest.mark.parametrize("kind", ["timeout", "resume", "retry", "cleanup"])
    def test_each_has_a_lock_of_its_own(self, kind: Chore) -> None:
        assert LOCKS[kind] == f"{kind}-scheduler"
