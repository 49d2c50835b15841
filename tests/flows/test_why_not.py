"""Why a tick did not run, as told from what nodes and people have left in the store, and nothing else."""

from __future__ import annotations

from functools import partial

from dibs.flows import controlling, defining
from dibs.flows.controlling import Span
from dibs.model import control
from dibs.model.fleet import BEAT, DOWN_AFTER
from dibs.model.job import BACKFILL
from dibs.model.rota import Ending
from tests.flows.inquiries import EVE, FIRST, TICK, adds, changes, does, freezes, noted_acts, thaws, why
from tests.flows.nodes import NAME, Node, duty, job, outcomes
from tests.flows.scripted import EPOCH, Process, Scene


class TestWhatPeopleDid:
    def test_the_job_was_paused(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(10)
        does(ann, control.paused)
        node.rounds_until(FIRST + 5)
        since = "the job was paused by eve (the books) at 13:46:50"
        told = why(ann, FIRST)
        assert (told.verdict, told.words) == ("paused", f"{TICK} was not run: {since}.")
        assert [act.act for act in told.acts] == ["paused"]
        assert why(ann, FIRST + 60).words == f"The tick of 13:48:00 will not be run: {since}."
        does(ann, control.resumed)
        node.rounds_until(FIRST + 61)
        assert why(ann, FIRST).verdict == "paused"
        assert why(ann, FIRST + 60).verdict == "running"

    def test_until_then(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(10)
        does(ann, partial(control.paused, until=EPOCH + 30))
        node.rounds_until(FIRST + 61)
        told = why(ann, FIRST)
        assert told.verdict == "paused"
        assert told.words.endswith(" at 13:46:50, until 13:47:10.")
        assert why(ann, FIRST + 60).verdict == "running"

    def test_a_pause_that_only_the_sheet_knows_of_is_enough(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(keep=1))
        node.rounds_until(10)
        does(ann, control.paused)
        does(ann, control.triggered)
        scene.until(FIRST + 5)
        told = why(ann, FIRST)
        assert (told.verdict, told.acts) == ("paused", ())
        assert "paused by eve (the books)" in told.words

    def test_before_anybody_had_begun_it(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        scene.until(FIRST + 1)
        does(ann, control.paused)
        told = why(ann, FIRST)
        assert told.verdict == "paused"
        assert "nobody had begun it when the schedule was paused by eve (the books)" in told.words

    def test_the_fleet_is_frozen(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(10)
        freezes(ann, until=FIRST + 600)
        node.rounds_until(FIRST + 5)
        told = why(ann, FIRST)
        assert told.verdict == "frozen"
        span = "from 13:46:50 to 13:57:00"
        assert told.words == f"{TICK} is held up: the whole fleet is frozen by eve (the books), {span}."

    def test_also_for_what_is_to_be_tried_again(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(retries=1, retry_delay=5.0))
        node.rounds_until(FIRST + 0.5)
        node.ends(Ending("failed"))
        node.round()
        freezes(ann)
        node.rounds_until(FIRST + 10)
        told = why(ann, FIRST)
        assert told.verdict == "frozen"
        assert told.words.endswith("frozen by eve (the books), from 13:47:00 on.")

    def test_it_was_frozen_for_too_long(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(grace=30.0))
        node.rounds_until(10)
        freezes(ann)
        node.rounds_until(FIRST + 55)
        thaws(ann)
        node.round()
        assert outcomes(scene) == [(FIRST, "missed")]
        told = why(ann, FIRST)
        assert told.verdict == "frozen"
        assert (
            "ago, and its grace is 30s. It could not be run in time as the whole fleet was frozen by eve" in told.words
        )

    def test_somebody_has_skipped_it(self, scene: Scene, ann: Process) -> None:
        Node(ann).rounds_until(10)
        does(ann, control.without_next)
        words = f"{TICK} was skipped by eve (the books) at 13:46:50."
        assert (why(ann, FIRST).verdict, why(ann, FIRST).words) == ("skipped", words)
        scene.until(FIRST + 5)
        assert why(ann, FIRST).words == words

    def test_it_was_removed(self, scene: Scene, ann: Process) -> None:
        adds(ann)
        scene.until(10)
        scene.play(defining.remove(ann.world, ann.desk, NAME, order=EVE))
        told = why(ann, FIRST)
        assert told.verdict == "gone"
        assert told.words == f"{TICK} was not run: the schedule was removed at 13:46:50 by eve (the books)."

    def test_it_has_retired(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(ann).round()
        scene.until(DOWN_AFTER + BEAT)
        Node(bob, duty("other")).round()
        assert job(scene).gone is not None
        told = why(ann, FIRST + 60)
        assert told.verdict == "gone"
        assert "was retired at 13:47:15 by bob (no live node's code defines it any more)." in told.words
        told = why(ann, FIRST)
        assert told.verdict == "gone"
        assert "nobody had begun it when the schedule was retired by bob" in told.words

    def test_it_is_a_tick_of_an_earlier_version(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(10)
        changes(ann, "every 3600s")
        node.rounds_until(FIRST + 5)
        told = why(ann, FIRST)
        assert (told.verdict, told.tick) == ("superseded", EPOCH + FIRST)
        assert told.words == (
            "13:47:00 is a tick of version 1 (every 60s), which held no more: it was changed by eve (the "
            "books) at 13:46:50 to version 2 (every 3600s)."
        )
        assert why(ann, FIRST + 10).tick == EPOCH + FIRST, "the last one that it would have been"

    def test_or_of_a_later_one(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(rule="every 3600s"))
        node.rounds_until(FIRST + 5)
        changes(ann, "every 60s")
        told = why(ann, FIRST)
        assert told.verdict == "superseded"
        assert told.words == (
            "13:47:00 is a tick of version 2 (every 60s), which held only from 13:47:05 on, "
            "when it was changed by eve (the books)."
        )

    def test_the_rule_before_the_first_change_that_is_known_is_known(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(keep=2))
        node.rounds_until(FIRST + 61)
        changes(ann, "every 3600s")
        node.ends()
        node.round()
        assert [act.act for act in noted_acts(scene)] == ["changed"]
        assert (why(ann, FIRST + 62).verdict, why(ann, FIRST + 62).tick) == ("overlap", EPOCH + FIRST + 60)
        assert why(ann, FIRST + 120).words.startswith("13:49:00 is a tick of version 1 (every 60s), which")

    def test_other_terms_are_no_other_version(self, scene: Scene, ann: Process, bob: Process) -> None:
        node = Node(ann, duty(labels=("gpu",)))
        node.rounds_until(FIRST + 5)
        changes(ann, "every 60s")
        assert why(ann, FIRST + 6).verdict == "no label"
        does(ann, control.paused)
        assert why(ann, FIRST + 6).words.endswith(
            "when the schedule was paused by eve (the books) at 13:47:05 (version 2)."
        )

    def test_what_nobody_had_begun_when_the_version_changed_is_not_run(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        scene.until(FIRST + 1)
        changes(ann, "every 3600s")
        told = why(ann, FIRST)
        assert told.verdict == "superseded"
        assert told.words.endswith("when the schedule was changed by eve (the books) at 13:47:01 (version 2).")

    def test_a_backfill_is_told_beside_what_was_before(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(bob, duty(grace=10.0)).round()
        scene.until(FIRST + 50)
        node = Node(ann, duty(grace=10.0))
        node.rounds_until(FIRST + 51)
        span = Span("every 60s", EPOCH + FIRST - 60, EPOCH + FIRST)
        scene.play(controlling.fill_in(ann.world, ann.desk, NAME, span, order=EVE))
        for _ in range(5):
            node.round()
            node.ends()
        assert [mine.job for mine in node.begun] == [NAME + BACKFILL] * 2
        told = why(ann, FIRST)
        assert told.verdict == "no live node"
        assert f" A backfill: {TICK[0].lower()}{TICK[1:]} was filled in on ann at 13:47:5" in told.words
        assert [record.outcome for record in told.records] == ["missed", "ok"]


class TestWhatNobodyRan:
    def test_the_run_before_was_in_the_way(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 61)
        told = why(ann, FIRST + 60)
        assert told.verdict == "overlap"
        assert told.words == ("The tick of 13:48:00 was skipped: the run of 13:47:00 had not ended: attempt 1, on ann.")

    def test_or_another_one_waited_already(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(overlap="queue"))
        node.rounds_until(FIRST + 121)
        told = why(ann, FIRST + 120)
        assert told.verdict == "overlap"
        assert told.words.endswith(" was skipped: another one waits already: the run of 13:48:00.")

    def test_there_is_no_live_node(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        scene.until(FIRST + DOWN_AFTER)
        told = why(ann, FIRST)
        assert (told.verdict, told.words) == ("no live node", f"{TICK} is overdue, and there is no live node now.")

    def test_there_was_none(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(bob).round()
        scene.until(FIRST + 125)
        Node(ann).round()
        told = why(ann, FIRST)
        assert told.verdict == "no live node"
        assert told.words == (
            f"{TICK} was missed: nobody was there for it when it came, 2m5s ago, and a later one was run instead. "
            "It could not be run in time as there was no live node from 13:46:40 to 13:49:05, when ann came."
        )

    def test_also_for_very_many_that_are_told_together(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(bob, duty(rule="every 1s")).round()
        scene.until(3_000)
        Node(ann, duty(rule="every 1s", keep=5_000)).round()
        told = why(ann, 500)
        assert (told.verdict, told.tick) == ("no live node", EPOCH + 500)
        assert told.words.startswith("The tick of 13:55:00 was missed: nobody was there for it, nor for any ")

    def test_no_node_has_the_label(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(labels=("gpu", "eu"), grace=30.0))
        node.rounds_until(FIRST + 10)
        told = why(ann, FIRST)
        lacks = "no live node that can do it has the labels eu, gpu"
        assert (told.verdict, told.words) == ("no label", f"{TICK} is overdue, and {lacks}.")
        node.rounds_until(FIRST + 40)
        told = why(ann, FIRST)
        assert (told.verdict, told.words) == ("no label", f"{TICK} was missed: {lacks}.")

    def test_no_node_can_do_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        adds(ann, grace=30.0)
        node = Node(bob, duty("other"))
        node.rounds_until(FIRST + 10)
        told = why(ann, FIRST)
        assert (told.verdict, told.words) == ("no function", f"{TICK} is overdue, and no live node can do 'report'.")
        node.rounds_until(FIRST + 40)
        told = why(ann, FIRST)
        assert (told.verdict, told.words) == ("no function", f"{TICK} was missed: no live node can do 'report'.")

    def test_also_for_what_somebody_has_asked_for(self, scene: Scene, ann: Process) -> None:
        adds(ann)
        does(ann, control.triggered)
        told = why(ann, 1)
        assert told.verdict == "no live node"
        assert told.words.endswith(" is overdue, and there is no live node now.")

    def test_it_was_outside_its_grace(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(grace=30.0), room=0)
        node.rounds_until(FIRST + 10)
        told = why(ann, FIRST)
        assert told.verdict == "waiting"
        assert told.words == (
            f"{TICK} is due since 10s and nobody has begun it yet, though 1 live node could; "
            "it may be begun for another 20s."
        )
        node.rounds_until(FIRST + 40)
        assert why(ann, FIRST).words.endswith("though 1 live node could; it is past its grace of 30s.")
        node.most = 1
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "outside grace"
        missed = "was missed: it came 40s ago, and its grace is 30s. What kept the nodes from it is not recorded."
        assert told.words == f"{TICK} {missed}"

    def test_the_store_was_down(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(grace=10.0))
        node.rounds_until(15)
        ann.world.is_silent = True
        node.rounds_until(FIRST + 25)
        ann.world.is_silent = False
        node.rounds_until(FIRST + 35)
        told = why(ann, FIRST)
        assert told.verdict == "store down"
        assert "It could not be run in time as the store was silent to ann from 13:46:5" in told.words

    def test_a_later_one_was_run_instead_and_nobody_knows_why(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, room=0)
        node.rounds_until(FIRST + 65)
        node.most = 1
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "missed"
        assert told.words.endswith("a later one was run instead. What kept the nodes from it is not recorded.")
