"""What nodes tell a store that was started anew, and may have forgotten what they did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dibs.flows.marks import MOST_BEGUN, Marks
from dibs.model.job import Job, Run, Terms
from dibs.model.rota import FORGOTTEN, adopted, bygone

NOW = 1_800_000_000.0


def job(*runs: Run, next_due: float = NOW + 60) -> Job:
    return Job("report", 7, 1, "every 60s", Terms(), next_due, runs)


def begun(attempt: int = 1, *, owner: str = "me") -> Run:
    run = Run(NOW, attempt, owner=owner, node=f"{owner}'s", fence=5, started_at=NOW)
    return replace(run, expires_at=NOW + 30)


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
        told = adopted(job(Run(NOW)), begun(), now=NOW + 9)
        assert told.runs == (replace(begun(), expires_at=NOW + 39),)

    def test_what_another_node_was_given_meanwhile_is_its_own(self) -> None:
        for theirs in (replace(begun(owner="ann"), fence=6), Run(NOW, 2)):
            assert adopted(job(theirs), begun(), now=NOW + 9).runs == (theirs,)

    @pytest.mark.parametrize("source", ["trigger", "backfill"])
    def test_so_it_is_with_what_somebody_has_asked_for(self, source: Any) -> None:
        mine = replace(begun(), source=source)
        theirs = replace(begun(owner="ann"), source=source, fence=6)
        assert adopted(job(theirs), mine, now=NOW + 9).runs == (theirs,)
        assert adopted(job(Run(NOW, source=source)), mine, now=NOW + 9).runs == (replace(mine, expires_at=NOW + 39),)

    def test_what_is_of_another_source_is_another_run(self) -> None:
        asked = replace(begun(owner="ann"), source="trigger", fence=6)
        assert adopted(job(asked), begun(), now=NOW + 9).runs[0] == asked
        assert bygone(job(Run(NOW, source="trigger")), begun(), now=NOW).job.runs == (Run(NOW, source="trigger"),)


class TestMarks:
    def test_nothing_is_told_to_a_store_that_has_forgotten_nothing(self) -> None:
        marks = Marks()
        marks.note_tick(job(), NOW)
        marks.note_begun("report", begun())
        assert marks.names == ["report"]
        assert marks.reminded(job(), (), NOW) is None

    def test_ticks_are_raised_and_never_lowered(self) -> None:
        marks = Marks()
        marks.note_tick(job(next_due=NOW + 120), NOW + 60)
        marks.note_tick(job(), NOW)
        marks.note_tick(job(), NOW + 600)
        assert marks.remembered(job()).next_due == NOW + 120
        assert marks.remembered(replace(job(), version=2)).next_due == NOW + 60

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
