"""A worker's rounds: which one is joined, what an attempt makes of it, and when it is over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dibs.model import rounds
from dibs.model.job import Job, belongs_to
from dibs.model.reading import job_of
from dibs.model.record import RAN
from dibs.model.rota import Ending, Step
from dibs.model.rounds import Aim, StatusLevel
from dibs.model.sheet import Sheet

NOW = 1_800_000_000.0
OK, FAILED = Ending("ok"), Ending("failed", "no luck")


def opened(number: int = 1, *, most: int = 3, after: Job | None = None) -> Job:
    return rounds.entered(after, Aim(number), key="mylock", max_attempts=most, now=NOW)


def begun(job: Job, owner: str = "ann", *, now: float = NOW) -> Job:
    return rounds.begun(job, now=now, owner=owner, node=f"{owner}'s", fence=7).job


def settled(job: Job, owner: str, ending: Ending) -> Step:
    step = rounds.settled(job, owner, ending, now=NOW + 1)
    assert step is not None
    return step


def failed(job: Job, owner: str = "ann") -> Job:
    return settled(begun(job, owner), owner, FAILED).job


class TestJoining:
    def test_where_nothing_was_ever_done_it_is_the_first(self) -> None:
        assert rounds.aim(None) == Aim(1)

    def test_it_is_the_open_one_with_the_attempts_that_were_made(self) -> None:
        assert rounds.aim(opened(4)) == Aim(4, 0)
        assert rounds.aim(begun(opened(4))) == Aim(4, 1)
        assert rounds.aim(failed(opened(4))) == Aim(4, 1)
        assert rounds.aim(begun(failed(opened(4)))) == Aim(4, 2)

    def test_after_one_that_is_over_it_is_the_next(self) -> None:
        over = settled(begun(opened(4)), "ann", OK).job
        assert rounds.aim(over) == Aim(5)
        assert opened(5, after=replace(over, revision=9)).revision == 9

    def test_an_open_one_has_the_terms_of_who_opened_it(self) -> None:
        job = opened(1, most=3)
        assert opened(1, most=8, after=job) is job

    @pytest.mark.parametrize(
        ("version", "is_open", "is_over"), [(3, True, False), (3, False, False), (4, True, False), (4, False, True)]
    )
    def test_a_round_is_over_when_its_run_is_gone(self, version: int, *, is_open: bool, is_over: bool) -> None:
        job = opened(version) if is_open else settled(begun(opened(version)), "ann", OK).job
        assert rounds.is_over(job, Aim(4)) is is_over
        assert rounds.is_over(job, Aim(version - 1))

    def test_nothing_is_over_where_nothing_is_known(self) -> None:
        assert not rounds.is_over(None, Aim(4))


class TestAttempts:
    def test_the_one_that_has_the_lock_begins_it_with_its_fence(self) -> None:
        step = rounds.begun(opened(), now=NOW, owner="ann", node="here", fence=7)
        assert step.begun is not None
        assert (step.begun.attempt, step.begun.owner, step.begun.node, step.begun.fence) == (1, "ann", "here", 7)
        assert (step.job.runs, step.begun.source, step.records) == ((step.begun,), "worker", ())

    def test_a_failed_one_is_followed_by_the_next(self) -> None:
        step = settled(begun(opened()), "ann", FAILED)
        [record] = step.records
        assert (record.outcome, record.reason, record.attempt, record.is_last) == ("failed", "no luck", 1, False)
        assert rounds.attempts(begun(step.job, "bob")) == 2

    @pytest.mark.parametrize("now", [NOW + 9, NOW - 9])
    def test_whoever_had_the_lock_before_is_dead_whatever_the_clock_says(self, now: float) -> None:
        step = rounds.begun(begun(opened()), now=now, owner="bob", node="there", fence=8)
        [record] = step.records
        assert (record.outcome, record.node, record.is_last) == ("lost", "ann's", False)
        assert step.begun is not None
        assert step.begun.attempt == 2

    def test_what_a_dead_one_says_does_not_count(self) -> None:
        job = begun(begun(opened()), "bob")
        assert rounds.settled(job, "ann", OK, now=NOW) is None

    def test_failed_and_lost_ones_count_together(self) -> None:
        job = begun(failed(begun(opened(), "dead"), "ann"), "bob")
        assert rounds.attempts(job) == 3
        step = settled(job, "bob", FAILED)
        assert (step.job.runs, step.records[0].is_last) == ((), True)

    def test_after_the_last_nobody_begins_another(self) -> None:
        job = begun(failed(failed(opened())), "dead")
        step = rounds.begun(job, now=NOW, owner="ann", node="here", fence=8)
        assert (step.begun, step.job.runs, step.records[0].outcome) == (None, (), "lost")
        assert rounds.finish(step.job) == "max-attempts"


class TestTheEnd:
    def test_it_was_done(self) -> None:
        done = settled(begun(opened()), "ann", OK).job
        assert (rounds.finish(done), done.gone) == ("completed", None)
        seen = rounds.seen(done, now=NOW).job
        assert (rounds.finish(seen), seen.gone is None) == ("completed", False)

    def test_it_was_given_up(self) -> None:
        assert rounds.finish(failed(failed(failed(opened())))) == "max-attempts"

    def test_the_next_round_begins_as_if_nothing_had_been(self) -> None:
        over = failed(failed(failed(opened())))
        again = begun(opened(2, after=over))
        assert (again.version, again.gone, rounds.attempts(again)) == (2, None, 1)

    def test_it_is_noted_under_the_name_of_the_lock_and_is_no_hold_of_its_own(self) -> None:
        [entry] = rounds.entries(settled(begun(opened(6)), "ann", OK))
        assert "mylock" in entry.tags
        assert not [tag for tag in entry.tags if tag.startswith(RAN)]
        assert '"version":6' in entry.text

    def test_a_sheet_tells_all_of_it(self) -> None:
        job = begun(failed(opened(6)))
        assert job_of(Sheet("~worker:mylock", 0, job.text())) == job
        assert belongs_to(job.name) == job.belongs_to == "mylock"


def test_levels_go_by_the_names_of_the_old_library_too() -> None:
    assert (StatusLevel.Normal, StatusLevel.Verbose) == (StatusLevel.NORMAL, StatusLevel.VERBOSE)
    assert StatusLevel.NORMAL < StatusLevel.VERBOSE
