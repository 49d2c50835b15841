"""What people may do to a job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dibs.model import control
from dibs.model.control import (
    MOST_ASKED_FOR,
    MOST_BYTES_ASKED_FOR,
    Refused,
    Word,
    cancelled,
    filled_in,
    given_up,
    paused,
    removed,
    resumed,
    ticks_between,
    triggered,
    without_next,
)
from dibs.model.job import Gone, Pause, Run, Terms
from dibs.model.record import Act
from dibs.model.rota import Ending, Step, handed_back, settled
from tests.model.schedules import GONE, NOW, at, job, running, told, word


def deed(step: Step) -> Act:
    [act] = step.acts
    return act


class TestPausing:
    def test_a_tick_that_had_come_and_was_not_begun_is_noted(self) -> None:
        step = paused(job(next_due=NOW - 60), word())
        assert [(each.tick, each.outcome, each.reason) for each in step.records] == [
            (NOW - 60, "missed", "nobody was there for it when it came, 1m ago, and a later one was run instead"),
            (NOW, "skipped", "ann paused it before it was begun"),
        ]

    def test_no_tick_is_run_until_somebody_says_otherwise(self) -> None:
        step = paused(job(), word(reason="a quiet night"))
        assert step.job.pause == Pause("ann", NOW, "a quiet night")
        assert (step.job.next_due, step.job.acts_at(), step.job.version) == (None, None, 2)
        assert deed(step) == Act("paused", NOW, "ann", "a quiet night", version=2)
        assert step.job.is_paused(NOW + 1e9)

    def test_or_until_a_moment(self) -> None:
        step = paused(job(), word(), until=NOW + 150)
        assert (step.job.next_due, deed(step).until) == (NOW + 180, NOW + 150)
        assert step.job.is_paused(NOW + 149)
        assert not step.job.is_paused(NOW + 150)

    def test_the_tick_of_the_moment_at_which_it_is_over_is_run(self) -> None:
        held = paused(job(), word(), until=NOW + 120).job
        assert held.next_due == NOW + 120
        assert not held.is_paused(NOW + 120)

    def test_a_moment_that_has_passed_is_refused(self) -> None:
        with pytest.raises(Refused, match="that moment has passed: name one that is yet to come, or none"):
            paused(job(), word(), until=NOW)

    def test_what_was_begun_is_to_be_tried_again_or_is_asked_for_goes_on(self) -> None:
        runs = (running(until=NOW + 99), Run(NOW - 30, 2, not_before=NOW + 5), Run(NOW - 9, source="trigger"))
        held = paused(job(*runs), word()).job
        assert held.runs == runs
        done = settled(held, "bob", Ending("ok"), now=NOW + 5)
        assert done is not None
        assert (at(done.job, NOW + 5).begun or Run(0)).tick == NOW - 30

    def test_who_says_so_once_more_is_the_last_to_have_said_it(self) -> None:
        held = paused(job(), word(), until=NOW + 600).job
        again = paused(held, Word("eve", NOW + 60), until=NOW + 90).job
        assert again.pause == Pause("eve", NOW + 60, until=NOW + 90)
        assert (again.next_due, again.version) == (NOW + 120, 3)

    def test_what_is_gone_is_neither_paused_nor_resumed(self) -> None:
        for act in (paused, resumed):
            with pytest.raises(Refused, match=r"^it was removed$"):
                act(job(gone=GONE), word())


class TestResuming:
    def test_its_ticks_are_run_again_from_now_on(self) -> None:
        step = resumed(paused(job(), word()).job, word(NOW + 3_000, "at last"))
        assert (step.job.pause, step.job.next_due, step.job.version) == (None, NOW + 3_060, 3)
        assert deed(step) == Act("resumed", NOW + 3_000, "ann", "at last", version=3)

    def test_before_the_time_comes_too(self) -> None:
        assert resumed(paused(job(), word(), until=NOW + 9_999).job, word(NOW + 30)).job.next_due == NOW + 60

    def test_what_is_not_paused_or_not_any_more_cannot_be(self) -> None:
        for known in (job(), paused(job(), word(), until=NOW + 60).job):
            with pytest.raises(Refused, match="it is not paused"):
                resumed(known, word(NOW + 60))

    def test_a_tick_that_somebody_has_left_out_does_not_come_back_with_it(self) -> None:
        left_out = without_next(job(), word()).job
        held = paused(paused(left_out, word()).job, word(NOW + 1)).job
        assert resumed(held, word(NOW + 2)).job.next_due == NOW + 120
        assert resumed(paused(left_out, word(), until=NOW + 5).job, word(NOW + 2)).job.next_due == NOW + 120

    def test_nor_does_one_that_was_run_when_the_clock_is_set_back(self) -> None:
        ran = at(job(next_due=NOW)).job
        assert resumed(paused(ran, word(NOW - 9)).job, word(NOW - 5)).job.next_due == NOW + 60

    def test_after_the_end_of_the_calendar_nothing_comes(self) -> None:
        assert resumed(paused(job(), word()).job, word(260_000_000_000.0)).job.next_due is None


class TestTriggering:
    def test_it_is_run_as_soon_as_its_turn_comes(self) -> None:
        step = triggered(job(), word(reason="for the boss"), arguments='{"day": 1}')
        assert step.job.runs == (Run(NOW, source="trigger", not_before=NOW, arguments='{"day": 1}'),)
        assert (step.job.next_due, step.job.version, step.job.acts_at()) == (NOW + 60, 1, NOW)
        assert deed(step) == Act("triggered", NOW, "ann", "for the boss", tick=NOW, version=1, told='{"day": 1}')
        begun = at(step.job, NOW + 1).begun
        assert begun is not None
        assert (begun.source, begun.arguments, begun.has_tick) == ("trigger", '{"day": 1}', False)

    def test_also_while_it_is_paused(self) -> None:
        assert at(triggered(paused(job(), word()).job, word()).job).begun is not None

    def test_what_is_tried_again_is_tried_with_the_same_arguments(self) -> None:
        asked = triggered(job(terms=Terms(retries=1)), word(), arguments="{}").job
        again = settled(at(asked).job, "me", Ending("failed"), now=NOW + 1)
        assert again is not None
        assert [(run.attempt, run.source, run.arguments) for run in again.job.waiting] == [(2, "trigger", "{}")]

    def test_so_many_may_wait(self) -> None:
        full = job(*(Run(NOW + number, source="trigger") for number in range(MOST_ASKED_FOR)))
        with pytest.raises(Refused, match="1000 runs of it that were asked for have not ended: wait for some of them"):
            triggered(full, word())
        assert len(triggered(replace(full, runs=full.runs[1:]), word()).job.runs) == MOST_ASKED_FOR

    def test_so_much_may_they_be_called_with(self) -> None:
        much = "x" * (MOST_BYTES_ASKED_FOR - 10)
        full = job(Run(NOW, source="trigger", arguments=much))
        with pytest.raises(Refused, match=r"what waits would have arguments of 262145 bytes, and 262144 are the most"):
            triggered(full, word(), arguments="x" * 11)
        for fits in ("", "x" * 10):
            assert triggered(full, word(), arguments=fits).job.runs[-1].arguments == fits

    def test_what_is_gone_is_not_run(self) -> None:
        with pytest.raises(Refused, match="it was removed"):
            triggered(job(gone=GONE), word())


class TestLeavingOut:
    def test_the_next_tick_is_not_run_and_the_one_after_it_is(self) -> None:
        step = without_next(job(), word(reason="a holiday"))
        assert (step.job.next_due, step.job.version) == (NOW + 120, 1)
        assert told(step) == [(NOW + 60, "skipped", True)]
        assert step.records[0].reason == "ann said so: a holiday"
        assert deed(step) == Act("skipped next", NOW, "ann", "a holiday", tick=NOW + 60, version=1)

    def test_without_a_reason_it_is_told_who_said_so(self) -> None:
        assert without_next(job(), word()).records[0].reason == "ann said so"

    def test_where_none_is_to_come_none_is_left_out(self) -> None:
        beside = filled_in(job(), None, word(), since=NOW - 300, until=NOW, parallel=1).job
        for known in (paused(job(), word()).job, removed(job(), word()).job, beside):
            with pytest.raises(Refused, match="no tick of it is to come"):
                without_next(known, word())

    def test_while_it_is_paused_none_is(self) -> None:
        held = paused(job(), word(), until=NOW + 600).job
        with pytest.raises(Refused, match="it is paused: pause it for longer, if its first tick after that"):
            without_next(held, word(NOW + 599))
        assert told(without_next(held, word(NOW + 600))) == [(NOW + 600, "skipped", True)]


class TestCancelling:
    def test_what_is_run_is_to_stop_and_what_waits_is_not_begun(self) -> None:
        waiting = Run(NOW - 30, 2, source="trigger", not_before=NOW + 5)
        step = cancelled(job(running(), waiting), word(reason="too slow"))
        assert step.job.runs == (running(cancelled_by="cancelled by ann: too slow"),)
        assert told(step) == [(NOW - 30, "cancelled", True)]
        [record] = step.records
        assert (record.reason, record.attempt, record.source) == ("cancelled by ann: too slow", 2, "trigger")
        assert deed(step) == Act("cancelled", NOW, "ann", "too slow", version=1)

    def test_or_only_that_of_one_tick(self) -> None:
        one, other = running(NOW - 60), running(NOW - 120, owner="eve")
        step = cancelled(job(one, other), word(), tick=NOW - 120)
        assert [run.cancelled_by for run in step.job.runs] == ["", "cancelled by ann"]
        assert (step.records, deed(step).tick) == ([], NOW - 120)

    def test_the_first_reason_to_stop_stays(self) -> None:
        step = cancelled(job(running(cancelled_by="a newer one came")), word())
        assert step.job.runs[0].cancelled_by == "a newer one came"

    @pytest.mark.parametrize(
        ("runs", "tick", "why"),
        [((), None, "nothing of it is under way"), ((running(),), NOW, "nothing is under way for that tick")],
    )
    def test_where_there_is_nothing_to_cancel_it_says_so(self, runs: Any, tick: float | None, why: str) -> None:
        with pytest.raises(Refused, match=f"^{why}$"):
            cancelled(job(*runs), word(), tick=tick)

    def test_what_its_node_had_not_begun_is_begun_by_nobody_else(self) -> None:
        stopped = cancelled(job(running()), word()).job
        step = handed_back(stopped, "bob", now=NOW + 1, has_begun=False)
        assert step is not None
        assert (step.job.runs, told(step)) == ((), [(NOW - 60, "cancelled", True)])
        assert step.records[0].reason == "cancelled by ann"


class TestRemoving:
    def test_it_is_run_no_more_and_what_waits_is_dropped(self) -> None:
        step = removed(job(running(), Run(NOW - 30, 2)), word(reason="unused"))
        assert (step.job.next_due, step.job.runs, step.job.version) == (None, (running(),), 2)
        assert step.job.gone == Gone("removed", NOW)
        assert told(step) == [(NOW - 30, "cancelled", True)]
        assert step.records[0].reason == "its schedule was removed"
        assert deed(step) == Act("removed", NOW, "ann", "unused", version=2, told="every 60s")

    def test_it_is_removed_once(self) -> None:
        with pytest.raises(Refused, match="it was removed"):
            removed(removed(job(), word()).job, word())

    def test_what_was_begun_and_fails_is_not_tried_again(self) -> None:
        gone = removed(job(running(), terms=Terms(retries=9, max_attempts=9)), word()).job
        assert told(settled(gone, "bob", Ending("failed"), now=NOW)) == [(NOW - 60, "failed", True)]
        assert told(at(gone, NOW + 30)) == [(NOW - 60, "lost", True)]
        back = handed_back(gone, "bob", now=NOW, has_begun=False)
        assert told(back) == [(NOW - 60, "cancelled", True)]
        assert back is not None
        assert back.records[0].reason == "its schedule was removed"

    def test_it_is_not_looked_at_again_and_again_while_its_last_run_takes_long(self) -> None:
        gone = removed(job(running(until=NOW + 90), terms=Terms(keep_for=10.0)), word()).job
        assert gone.acts_at() == NOW + 90
        done = settled(gone, "bob", Ending("ok"), now=NOW + 50)
        assert done is not None
        assert done.job.acts_at() == NOW + 10
        assert at(done.job, NOW + 50).is_thrown_away

    def test_its_history_is_kept_for_as_long_as_ever(self) -> None:
        gone = removed(job(terms=Terms(keep_for=100.0)), word()).job
        assert gone.acts_at() == NOW + 100
        assert at(gone, NOW + 99) == Step(gone, records=())
        assert at(gone, NOW + 100).is_thrown_away


class TestFillingIn:
    def test_the_ticks_from_then_to_then_are_run_from_a_sheet_beside_it(self) -> None:
        known = job(rule="every 60s", terms=Terms("queue", retries=2), function="build", arguments="{}")
        step = filled_in(known, None, word(reason="lost data"), since=NOW - 300, until=NOW - 1, parallel=2)
        beside = step.job
        assert (beside.name, beside.belongs_to, beside.revision, beside.version) == ("report~backfill", "report", 0, 1)
        assert (beside.done_by, beside.arguments, beside.terms) == ("build", "{}", Terms("allow", retries=2))
        assert (beside.next_due, beside.acts_at()) == (NOW - 300, NOW)
        assert deed(step) == Act(
            "backfill",
            NOW,
            "ann",
            "lost data",
            since=NOW - 300,
            until=NOW - 60,
            version=1,
            told="5 ticks, 2 at once",
        )

    def test_it_is_done_by_the_function_of_the_job_itself_if_that_is_not_said(self) -> None:
        assert filled_in(job(), None, word(), since=NOW - 60, until=NOW, parallel=1).job.done_by == "report"

    def test_one_is_under_way_at_a_time_and_then_another(self) -> None:
        first = filled_in(job(), None, word(), since=NOW - 60, until=NOW, parallel=2).job
        claimed = at(first).job
        for beside in (first, claimed):
            with pytest.raises(Refused, match="another backfill of it is under way: wait for its end, or cancel it"):
                filled_in(job(), beside, word(), since=NOW - 60, until=NOW, parallel=1)
        over = replace(first, next_due=None, revision=9)
        again = filled_in(job(rule="every 30s"), over, word(), since=NOW - 30, until=NOW, parallel=3).job
        assert (again.revision, again.version, again.rule, again.next_due) == (9, 2, "every 30s", NOW - 30)

    def test_also_when_the_job_was_removed_in_between(self) -> None:
        over = replace(filled_in(job(), None, word(), since=NOW, until=NOW, parallel=1).job, next_due=None, gone=GONE)
        assert filled_in(job(), over, word(), since=NOW, until=NOW, parallel=1).job.gone is None

    @pytest.mark.parametrize(
        ("since", "until", "why"),
        [
            (NOW - 59, NOW - 1, "no tick of it is in that time"),
            (NOW, NOW - 60, "no tick of it is in that time"),
            (NOW, NOW + 60, "not all of these ticks have come yet"),
        ],
    )
    def test_what_cannot_be_filled_in_is_refused(self, since: float, until: float, why: str) -> None:
        with pytest.raises(Refused, match=f"^{why}$"):
            filled_in(job(), None, word(), since=since, until=until, parallel=1)

    def test_it_has_an_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(control, "MOST_FILLED_IN", 5)
        assert filled_in(job(), None, word(), since=NOW - 240, until=NOW, parallel=1).job.next_due == NOW - 240
        with pytest.raises(Refused, match="that is more than 5 ticks: do it in parts"):
            filled_in(job(), None, word(), since=NOW - 300, until=NOW, parallel=1)

    def test_what_is_gone_has_nothing_to_fill_in(self) -> None:
        with pytest.raises(Refused, match="it was removed"):
            filled_in(job(gone=GONE), None, word(), since=NOW, until=NOW, parallel=1)


class TestGivingUp:
    def test_no_further_ticks_are_run_and_those_under_way_are_to_stop(self) -> None:
        beside = at(filled_in(job(), None, word(), since=NOW - 300, until=NOW, parallel=2).job).job
        step = given_up(beside, word(reason="wrong month"))
        assert (step.job.next_due, step.job.version, deed(step).act) == (None, 2, "cancelled")
        assert [run.cancelled_by for run in step.job.runs] == ["cancelled by ann: wrong month"]
        assert told(step) == [(NOW - 240, "cancelled", True)]

    def test_also_before_any_was_begun(self) -> None:
        step = given_up(filled_in(job(), None, word(), since=NOW - 300, until=NOW, parallel=2).job, word())
        assert (step.job.acts_at(), told(step), deed(step).version) == (None, [], 2)

    def test_what_is_over_cannot_be(self) -> None:
        over = given_up(filled_in(job(), None, word(), since=NOW, until=NOW, parallel=2).job, word()).job
        with pytest.raises(Refused, match="no backfill of it is under way"):
            given_up(over, word())


class TestPreview:
    def test_both_ends_are_included(self) -> None:
        assert ticks_between(job(), NOW - 120, NOW, most=9) == [NOW - 120, NOW - 60, NOW]

    def test_not_what_is_before_by_however_little(self) -> None:
        assert ticks_between(job(), NOW + 5e-7, NOW + 60, most=9) == [NOW + 60]

    def test_of_many_the_first_are_given(self) -> None:
        assert ticks_between(job(), NOW - 600, NOW, most=2) == [NOW - 600, NOW - 540]

    def test_where_the_calendar_ends_it_ends(self) -> None:
        last = 253_000_000_000.0
        assert ticks_between(job(), last - 60, last + 600, most=9)[-1] <= last + 60
