"""A job on its sheet, and a line of its history."""

from __future__ import annotations

import json

import pytest

from dibs.model.job import Job, Record, Run, Terms, job_of, record_of
from dibs.model.sheet import Sheet

NOW = 1_800_000_000.0


def kept(job: Job, revision: int) -> Job:
    """As it comes back from a store."""
    return job_of(Sheet(job.name, revision, job.text()))


def job(*runs: Run, next_due: float | None = NOW, rule: str = "every 60s", terms: Terms | None = None) -> Job:
    return Job("report", 7, 3, rule, terms or Terms(), next_due, runs)


def test_it_comes_back_as_it_was() -> None:
    terms = Terms("cancel", "all", 5, 1.5, 2, 0.25, 10.0, 3.0, 4, 7.0, 9, 11.0)
    running = Run(NOW, 2, "outage", 1.0, 1, "owner", "node", 5, NOW, NOW + 30, "why", 0.5, "half ü")
    before = job(running, Run(NOW + 60), terms=terms, next_due=None)
    after = kept(before, 8)
    assert (after.revision, after.runs, after.terms) == (8, before.runs, terms)
    assert (after.name, after.version, after.rule, after.next_due) == ("report", 3, "every 60s", None)


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


def test_a_record_comes_back_as_it_was() -> None:
    record = Record(
        NOW, "failed", NOW + 3, "why", 2, "outage", False, "n", 5, NOW + 1, NOW + 3, "1", "e", 0.5, "h", ("a",)
    )
    assert record_of(record.text()) == record
    assert (record.lateness, record.duration) == (1.0, 2.0)
    assert json.loads(Record(NOW, "missed", NOW).text()) == {"tick": NOW, "outcome": "missed", "at": NOW}


def test_what_was_not_begun_is_neither_late_nor_long() -> None:
    record = record_of(Record(NOW, "missed", NOW + 5).text())
    assert (record.lateness, record.duration) == (0.0, 0.0)


def test_by_a_clock_that_was_set_back_nothing_is_early() -> None:
    assert Record(NOW, "ok", NOW, started_at=NOW - 1, ended_at=NOW).lateness == 0.0
