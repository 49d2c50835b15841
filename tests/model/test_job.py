"""A job on its sheet."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.job import BACKFILL, Backfill, CatchUp, Gone, Job, Origin, Overlap, Pause, Run, Terms
from dibs.model.reading import job_of
from dibs.model.record import Outcome, Record, Source
from dibs.model.sheet import Sheet

NOW = 1_800_000_000.0


def kept(job: Job, revision: int) -> Job:
    """As it comes back from a store."""
    return job_of(Sheet(job.name, revision, job.text()))


def job(*runs: Run, next_due: float | None = NOW, rule: str = "every 60s", **more: Any) -> Job:
    return Job("report", 7, 3, rule, more.pop("terms", Terms()), next_due, runs, **more)


TIMES = st.floats(0.0, 4e9)
TEXTS = st.text(max_size=9)
COUNTS = st.integers(0, 1 << 53)
TERMS: dict[str, st.SearchStrategy[Any]] = {
    "overlap": st.sampled_from(get_args(Overlap)),
    "catch_up": st.sampled_from(get_args(CatchUp)),
    "most": COUNTS,
    "grace": TIMES,
    "retries": COUNTS,
    "retry_delay": TIMES,
    "timeout": st.none() | TIMES,
    "expect": st.none() | TIMES,
    "max_attempts": COUNTS,
    "ttl": TIMES,
    "keep": COUNTS,
    "keep_for": TIMES,
    "labels": st.lists(TEXTS, max_size=3).map(tuple),
}
RUNS: dict[str, st.SearchStrategy[Any]] = {
    "tick": TIMES,
    "attempt": COUNTS,
    "source": st.sampled_from(get_args(Source)),
    "not_before": TIMES,
    "failures": COUNTS,
    "owner": TEXTS,
    "node": TEXTS,
    "fence": st.integers(1, 1 << 53),
    "started_at": TIMES,
    "expires_at": TIMES,
    "cancelled_by": TEXTS,
    "progress": st.none() | st.floats(0.0, 1.0),
    "note": TEXTS,
    "arguments": TEXTS,
}
JOBS: dict[str, st.SearchStrategy[Any]] = {
    "name": TEXTS,
    "revision": st.integers(1, 1 << 53),
    "version": COUNTS,
    "rule": TEXTS,
    "terms": st.builds(Terms, **TERMS),
    "next_due": st.none() | TIMES,
    "runs": st.lists(st.builds(Run, **RUNS), max_size=3).map(tuple),
    "function": TEXTS,
    "arguments": TEXTS,
    "origin": st.sampled_from(get_args(Origin)),
    "code": TEXTS,
    "defined_at": TIMES,
    "mark": TIMES,
    "pause": st.none() | st.builds(Pause, by=TEXTS, at=TIMES, reason=TEXTS, until=st.none() | TIMES),
    "backfill": st.none() | st.builds(Backfill, until=TIMES, parallel=COUNTS, by=TEXTS, at=TIMES, reason=TEXTS),
    "gone": st.none() | st.builds(Gone, how=st.sampled_from(["removed", "retired", "ended"]), at=TIMES),
    "last": st.none() | st.builds(Record, TIMES, st.sampled_from(get_args(Outcome)), TIMES, TEXTS, fence=COUNTS),
}


@given(st.builds(Job, **JOBS))
def test_it_comes_back_as_it_was(before: Job) -> None:
    assert kept(before, before.revision) == before


@pytest.mark.parametrize(("kind", "parts"), [(Job, JOBS), (Run, RUNS), (Terms, TERMS)])
def test_nothing_is_left_out_of_that(kind: Any, parts: dict[str, Any]) -> None:
    assert [field.name for field in fields(kind)] == list(parts)


def test_what_is_as_usual_is_not_written() -> None:
    assert json.loads(job(Run(NOW)).text()) == {
        "format": 1,
        "rule": "every 60s",
        "version": 3,
        "due": NOW,
        "terms": {},
        "runs": [{"tick": NOW}],
    }


def test_a_run_has_the_revision_it_was_begun_by_for_its_fence() -> None:
    begun = job(Run(NOW, owner="ann"), Run(NOW, owner="bob", fence=4), Run(NOW))
    assert [run.fence for run in kept(begun, 12).runs] == [12, 4, 0]


def test_a_sheet_of_a_newer_dibs_is_not_read() -> None:
    with pytest.raises(ValueError, match="'report' is of format 2; upgrade dibs here and restart"):
        job_of(Sheet("report", 1, '{"format": 2}'))


def test_it_is_to_be_looked_at_when_the_first_of_its_moments_comes() -> None:
    assert job().acts_at() == NOW
    assert job(next_due=None).acts_at() is None
    assert job(Run(NOW - 60, not_before=NOW - 5)).acts_at() == NOW - 5
    assert job(Run(NOW - 60, owner="ann", expires_at=NOW - 1)).acts_at() == NOW - 1


def test_what_waits_for_a_run_to_end_is_not_looked_at_before() -> None:
    running, waiting = Run(NOW - 60, owner="ann", expires_at=NOW + 9), Run(NOW - 60, not_before=NOW - 5)
    assert job(running, waiting).acts_at() == NOW
    assert job(running, waiting, terms=Terms(overlap="allow")).acts_at() == NOW - 5


def test_with_jitter_it_is_to_be_looked_at_later() -> None:
    put_off = job(rule="every 60s jitter=30s")
    assert put_off.acts_at() == put_off.due_at(NOW)
    assert NOW < put_off.due_at(NOW) < NOW + 30


def test_it_knows_whose_runs_it_has() -> None:
    ann, waiting = Run(NOW, owner="ann"), Run(NOW)
    both = job(ann, waiting)
    assert (both.running, both.waiting, both.run_of("ann"), both.run_of("bob")) == ((ann,), (waiting,), ann, None)


class TestPauses:
    def test_it_is_paused_until_its_pause_is_over(self) -> None:
        assert not job().is_paused(NOW)
        assert job(pause=Pause("ann", NOW)).is_paused(NOW + 1e9)
        for now, is_paused in ((NOW + 59, True), (NOW + 60, False)):
            assert job(pause=Pause("ann", NOW, until=NOW + 60)).is_paused(now) is is_paused

    def test_its_first_tick_from_now_on_is_one_of_no_pause(self) -> None:
        assert job().due_from(NOW) == NOW + 60
        assert job(pause=Pause("ann", NOW)).due_from(NOW) is None
        assert job(gone=Gone("removed", NOW)).due_from(NOW) is None
        until = job(pause=Pause("ann", NOW, until=NOW + 120))
        assert [until.due_from(now) for now in (NOW, NOW + 120, NOW + 130)] == [NOW + 120, NOW + 180, NOW + 180]

    def test_nor_one_that_was_dealt_with(self) -> None:
        assert job(mark=NOW + 180).due_from(NOW) == NOW + 180
        assert job(mark=NOW - 180).due_from(NOW) == NOW + 60

    def test_what_was_dealt_with_is_told_by_the_next_tick_unless_a_pause_has_put_it_off(self) -> None:
        assert job(mark=5.0).marked(NOW) == NOW
        assert job(mark=5.0, next_due=None).marked(NOW) == 5.0
        assert job(mark=5.0, pause=Pause("ann", NOW, until=NOW + 60)).marked(NOW) == 5.0


class TestBackfills:
    def test_its_sheet_belongs_to_the_job_it_is_beside(self) -> None:
        beside = Job("report" + BACKFILL, 1, 1, "every 60s", Terms(), NOW, function="report")
        assert (beside.belongs_to, job().belongs_to, beside.done_by) == ("report", "report", "report")
        assert (job().done_by, job(function="build").done_by) == ("report", "build")

    def test_it_is_to_be_looked_at_as_long_as_it_wants_more(self) -> None:
        backfill, terms = Backfill(NOW, 2, "ann", NOW + 9), Terms("allow")
        later = Run(NOW, not_before=NOW + 99)
        for runs, next_due, acts_at in (
            ((), NOW - 600, NOW + 9),
            ((later,), NOW - 600, NOW + 9),
            ((later, later), NOW - 600, NOW + 99),
            ((later,), None, NOW + 99),
            ((), None, None),
        ):
            assert job(*runs, next_due=next_due, backfill=backfill, terms=terms).acts_at() == acts_at
        assert not job().wants_more

    def test_its_last_tick_is_followed_by_none(self) -> None:
        beside = job(backfill=Backfill(NOW, 2, "ann", NOW))
        assert [beside.following(tick) for tick in (NOW - 60, NOW)] == [NOW, None]
        assert job().following(NOW) == NOW + 60
        assert job().following(260_000_000_000.0) is None


def test_what_is_gone_is_to_be_looked_at_when_it_can_be_thrown_away() -> None:
    gone = Gone("removed", NOW)
    assert (job().forget_at, job(gone=gone, next_due=None).forget_at) == (None, NOW + 30 * 86_400)
    assert job(gone=gone, next_due=None).acts_at() == NOW + 30 * 86_400
    running = Run(NOW, owner="ann", expires_at=NOW + 99 * 86_400)
    assert job(running, gone=gone, next_due=None).acts_at() == NOW + 99 * 86_400


def test_whoever_says_first_that_a_run_is_to_stop_is_the_reason() -> None:
    running = Run(NOW, owner="ann").stopped("one").stopped("other")
    assert (running.cancelled_by, Run(NOW).stopped("one")) == ("one", Run(NOW))


def test_what_is_begun_again_is_the_same_but_for_who_did_it() -> None:
    before = Run(NOW, 2, "trigger", 1.0, 1, "ann", "here", 5, NOW, NOW, "why", 0.5, "half", "{}")
    assert before.again(NOW + 9, 3) == Run(NOW, 3, "trigger", NOW + 9, 1, arguments="{}")


def test_a_run_is_not_wanted_that_was_cancelled_or_whose_schedule_is_gone() -> None:
    assert job().unwanted(Run(NOW)) == ""
    assert job().unwanted(Run(NOW, cancelled_by="why")) == "why"
    assert job(gone=Gone("retired", NOW)).unwanted(Run(NOW)) == "its schedule was retired"
