"""The runs in a node's hands: what they are told, and what is told of them."""

from __future__ import annotations

from typing import Any

from dibs.events import RunForsaken, RunLeftBehind, RunSlow
from dibs.flows.duty import NOT_RENEWED, TAKEN, TIMEOUT
from dibs.model.job import LEEWAY
from tests.flows.nodes import NAME, Node, duty, history, job, outcomes
from tests.flows.scripted import SILENT, Process, Scene

FIRST = 20.0


def begun(process: Process, **terms: Any) -> Node:
    """A node in the middle of its first run."""
    node = Node(process, duty(**terms))
    node.rounds_until(FIRST + 0.5)
    assert node.ticks == [FIRST]
    return node


def test_it_is_renewed_each_third_of_its_ttl_with_how_far_it_is(scene: Scene, ann: Process) -> None:
    node = begun(ann)
    [mine] = node.begun
    mine.progress, mine.note = 0.4, "two of five"
    before = job(scene).runs[0].expires_at
    node.rounds_until(FIRST + 9)
    assert job(scene).runs[0].expires_at == before
    node.rounds_until(FIRST + 11)
    [run] = job(scene).runs
    assert before + 10 <= run.expires_at <= before + 11
    assert (run.progress, run.note) == (0.4, "two of five")
    node.ends()
    node.round()
    assert (history(scene)[0].progress, history(scene)[0].note) == (0.4, "two of five")


def test_one_that_cannot_be_renewed_is_told_before_another_may_begin_it(scene: Scene, ann: Process) -> None:
    node = begun(ann)
    ann.world.is_silent = True
    node.rounds_until(FIRST + 29.9)
    [mine] = node.begun
    assert (mine.forsaken, node.stops) == (NOT_RENEWED, [NOT_RENEWED])
    [event] = ann.told(RunForsaken)
    assert (event.job, event.attempt, event.reason) == (NAME, 1, NOT_RENEWED)


def test_it_is_not_renewed_again_but_what_came_of_it_counts_if_nobody_has_taken_it(scene: Scene, ann: Process) -> None:
    node = begun(ann)
    ann.world.is_silent = True
    node.rounds_until(FIRST + 28)
    ann.world.is_silent = False
    expires_at = job(scene).runs[0].expires_at
    node.shift.is_leaving = True
    node.round()
    assert job(scene).runs[0].expires_at == expires_at
    node.ends()
    node.round()
    assert outcomes(scene) == [(FIRST, "ok")]


def test_one_that_the_store_does_not_know_any_more_is_told_once(scene: Scene, ann: Process) -> None:
    node = begun(ann)
    sheets = scene.server.sheets[""]
    sheets.kept.clear()
    sheets.acts_at.clear()
    node.round()
    node.round()
    assert ([mine.forsaken for mine in node.begun], node.stops) == ([TAKEN], [TAKEN])
    assert len(ann.told(RunForsaken)) == 1
    node.ends()
    node.round()
    assert node.shift.charge.underway == {}


def test_one_that_is_not_ours_any_more_and_does_not_stop_is_left_behind(scene: Scene, ann: Process) -> None:
    node = begun(ann, timeout=40.0)
    ann.world.is_silent = True
    node.rounds_until(FIRST + 40 + LEEWAY - 0.5)
    [mine] = node.begun
    assert (mine.forsaken, mine.is_left_behind) == (NOT_RENEWED, False), "it has time to stop"
    node.rounds_until(FIRST + 40 + LEEWAY + 10)
    assert mine.is_left_behind
    [event] = ann.told(RunLeftBehind)
    assert (event.job, event.tick, event.attempt, event.running_for > 40) == (NAME, mine.run.tick, 1, True)


def test_one_that_is_ours_is_waited_for_however_long_it_takes_to_stop(scene: Scene, ann: Process) -> None:
    node = begun(ann, timeout=10.0)
    node.rounds_until(FIRST + 50)
    assert ([mine.is_left_behind for mine in node.begun], ann.told(RunLeftBehind)) == ([False], [])


def test_one_that_takes_too_long_is_asked_to_stop_once_and_kept_until_it_has(scene: Scene, ann: Process) -> None:
    node = begun(ann, timeout=40.0, overlap="queue")
    node.rounds_until(FIRST + 41)
    node.rounds_until(FIRST + 100)
    assert node.stops == [TIMEOUT]
    assert job(scene).running[0].expires_at > scene.store_now()


def test_one_that_takes_longer_than_expected_is_told_of_once(scene: Scene, ann: Process) -> None:
    node = begun(ann, expect=5.0)
    node.rounds_until(FIRST + 4)
    assert ann.told(RunSlow) == []
    node.rounds_until(FIRST + 20)
    [slow] = ann.told(RunSlow)
    assert (slow.job, slow.expect, 5 < slow.running_for < 7) == (NAME, 5.0, True)


def test_one_that_a_newer_one_goes_before_is_asked_to_stop_within_a_second(scene: Scene, ann: Process) -> None:
    node = begun(ann, overlap="cancel")
    node.rounds_until(FIRST + 61)
    assert [why.startswith("the tick of ") for why in node.stops] == [True]
    assert node.ticks == [FIRST]
    node.ends()
    node.round()
    assert node.ticks == [FIRST, FIRST + 60]


def test_several_of_one_job_are_told_of_in_one_change(scene: Scene, ann: Process) -> None:
    node = begun(ann, overlap="allow")
    node.rounds_until(FIRST + 61)
    assert node.ticks == [FIRST, FIRST + 60]
    node.ends()
    before = len(ann.world.asks("amend"))
    node.round()
    assert len(ann.world.asks("amend")) == before + 1
    assert outcomes(scene) == [(FIRST, "ok"), (FIRST + 60, "ok")]


def test_a_renewal_that_was_not_answered_is_tried_again(scene: Scene, ann: Process) -> None:
    node = begun(ann)
    ann.world.doom("amend", SILENT)
    node.rounds_until(FIRST + 20)
    assert job(scene).runs[0].expires_at > scene.store_now() + 15
    assert ann.told(RunForsaken) == []
