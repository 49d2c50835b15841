"""Why a tick ran, was late, or is none, as told from what nodes and people have left in the store, and nothing else."""

from __future__ import annotations

import pytest

from dibs.errors import NoSuchJob
from dibs.model import control
from dibs.model.rota import Ending
from tests.flows.inquiries import FIRST, TICK, adds, does, freezes, thaws, why
from tests.flows.nodes import Node, duty, job
from tests.flows.scripted import EPOCH, Process, Scene


class TestWhatRan:
    def test_it_ran(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(FIRST + 0.5)
        scene.until(FIRST + 3)
        node.ends()
        node.round()
        for at in (FIRST, FIRST + 30):
            told = why(ann, at)
            assert (told.verdict, told.tick) == ("ran", EPOCH + FIRST)
            assert told.words == f"{TICK} ran on ann at 13:47:00: ok after 3s."
            assert [record.outcome for record in told.records] == ["ok"]

    def test_or_failed_at_the_last_attempt(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(retries=1, retry_delay=5.0))
        node.rounds_until(FIRST + 0.5)
        node.ends(Ending("failed", "ValueError: no stock"))
        node.rounds_until(FIRST + 1)
        told = why(ann, FIRST)
        assert told.verdict == "waiting"
        assert "is to be tried again at 13:47:05, attempt 2: attempt 1 was failed" in told.words
        node.rounds_until(FIRST + 7)
        node.ends(Ending("failed", "ValueError: no stock"))
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran"
        assert told.words.startswith(f"{TICK} ran on ann at 13:47:05, attempt 2: failed after ")
        assert told.words.endswith(": ValueError: no stock.")

    def test_it_runs_right_now(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(ttl=3.0))
        node.rounds_until(FIRST + 0.5)
        node.begun[0].progress, node.begun[0].note = 0.4, "invoices"
        node.rounds_until(FIRST + 3)
        told = why(ann, FIRST)
        assert told.verdict == "running"
        assert told.words == f"{TICK} is running on ann since 13:47:00, 40% done (invoices)."
        does(ann, control.cancelled)
        assert why(ann, FIRST).words.endswith(" It was asked to stop: cancelled by eve: the books.")

    def test_somebody_has_asked_for_it(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(5)
        does(ann, control.triggered)
        asked = "The run that was asked for at 13:46:45 by eve (the books)"
        told = why(ann, 5)
        assert (told.verdict, told.words) == ("waiting", f"{asked} is to be begun, and nobody has yet.")
        node.round()
        node.ends()
        node.round()
        told = why(ann, 5)
        assert told.verdict == "ran"
        assert told.words == f"{asked} ran on ann at 13:46:45: ok after 0ms."
        assert [act.act for act in told.acts] == ["triggered"]

    def test_its_node_was_lost(self, scene: Scene, ann: Process, bob: Process) -> None:
        dying, other = Node(ann, duty(ttl=10.0, max_attempts=2)), Node(bob, duty(ttl=10.0, max_attempts=2))
        dying.rounds_until(FIRST + 0.5)
        scene.until(FIRST + 12)
        other.round()
        assert why(ann, FIRST).verdict == "running"
        scene.until(FIRST + 25)
        Node(ann, duty(ttl=10.0, max_attempts=2)).round()
        told = why(ann, FIRST)
        assert told.verdict == "lost"
        assert told.words.startswith(f"{TICK} ran on bob at 13:47:12, attempt 2: it was lost after 13s")
        assert told.words.endswith(", as its node did not renew it in time.")
        assert [(record.node, record.outcome) for record in told.records] == [("ann", "lost"), ("bob", "lost")]

    def test_somebody_has_cancelled_it(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(retries=1, retry_delay=30.0))
        node.rounds_until(FIRST + 0.5)
        does(ann, control.cancelled)
        node.ends(Ending("cancelled"))
        node.rounds_until(FIRST + 2)
        told = why(ann, FIRST)
        assert told.verdict == "cancelled"
        assert ": cancelled after " in told.words
        assert told.words.endswith(": cancelled by eve: the books.")

    def test_or_before_it_had_begun(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.round()
        does(ann, control.triggered)
        does(ann, control.cancelled)
        told = why(ann, 1)
        assert told.verdict == "cancelled"
        assert told.words.endswith(" was not run: cancelled by eve: the books.")

    def test_it_was_run_by_its_nodes_own_clock(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(on_outage="open"))
        node.rounds_until(15)
        ann.world.is_silent = True
        node.rounds_until(FIRST + 3)
        node.ends()
        ann.world.is_silent = False
        node.rounds_until(FIRST + 10)
        told = why(ann, FIRST)
        assert told.verdict == "ran"
        assert told.words.endswith(" Its node went by its own clock, as the store was silent.")


class TestWhatRanLate:
    def test_as_the_store_was_silent(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(15)
        ann.world.is_silent = True
        node.rounds_until(FIRST + 25)
        ann.world.is_silent = False
        node.rounds_until(FIRST + 35)
        node.ends()
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran late"
        assert "s late: ok" in told.words
        assert " It was late as the store was silent to ann from 13:46:5" in told.words
        assert [act.act for act in told.acts] == ["silent"]

    def test_as_nobody_was_up(self, scene: Scene, ann: Process, bob: Process) -> None:
        Node(bob).rounds_until(7)
        scene.until(FIRST + 35)
        node = Node(ann)
        node.round()
        node.ends()
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran late"
        assert "13:47:35, 35s late: ok" in told.words
        assert "as there was no live node from 13:46:45 to 13:47:35" in told.words
        assert [act.act for act in told.acts] == ["unattended"]

    def test_as_nobody_had_ever_been(self, scene: Scene, ann: Process) -> None:
        adds(ann)
        scene.until(FIRST + 15)
        node = Node(ann)
        node.round()
        node.ends()
        node.round()
        assert "as there was no live node before 13:47:15, when ann came." in why(ann, FIRST).words

    def test_as_the_fleet_was_frozen(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(10)
        freezes(ann)
        node.rounds_until(FIRST + 25)
        thaws(ann)
        node.round()
        node.ends()
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran late"
        span = "from 13:46:50 to 13:47:25"
        assert told.words.endswith(f"as the whole fleet was frozen by eve (the books), {span}.")

    def test_also_if_it_was_frozen_only_for_a_moment(self, scene: Scene, ann: Process) -> None:
        node = Node(ann)
        node.rounds_until(10)
        freezes(ann, until=FIRST + 3)
        node.rounds_until(FIRST + 4)
        node.ends()
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran late"
        assert "frozen by eve (the books), from 13:46:50 to 13:47:03." in told.words

    def test_not_as_another_ran_if_they_may_overlap(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(overlap="allow"))
        node.rounds_until(FIRST + 50)
        node.most = 1
        node.rounds_until(FIRST + 72)
        node.most = 2
        node.round()
        node.ends()
        node.round()
        told = why(ann, FIRST + 60)
        assert told.verdict == "ran late"
        assert "it waited for" not in told.words

    def test_as_it_had_to_wait_for_the_one_before(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(overlap="queue"))
        node.rounds_until(FIRST + 61)
        told = why(ann, FIRST + 60)
        assert told.verdict == "waiting"
        assert "waits for the end of the run of 13:47:00, on ann since 13:47:00" in told.words
        scene.until(FIRST + 80)
        node.ends()
        node.round()
        node.round()
        node.ends()
        node.round()
        told = why(ann, FIRST + 60)
        assert told.verdict == "ran late"
        run = "the run of 13:47:00 on ann, which ended at 13:48:20"
        assert told.words.endswith(f" It was late as it waited for {run}.")

    def test_as_its_node_was_busy(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(), duty("other", rule="every 10s"), room=1)
        node.rounds_until(FIRST + 15)
        assert [mine.job for mine in node.begun] == ["other"]
        for _ in range(5):
            node.ends()
            node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran late"
        assert told.words.endswith("as ann had no worker free when it was due: it was at 1 other run.")

    def test_or_nobody_knows(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, room=0)
        node.rounds_until(FIRST + 15)
        node.most = 1
        node.round()
        node.ends()
        node.round()
        told = why(ann, FIRST)
        assert told.verdict == "ran late"
        assert told.words.endswith("15s late: ok after 0ms. What kept the nodes from it is not recorded.")


class TestWhatIsNoTick:
    def test_it_is_not_due_yet(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        told = why(ann, FIRST)
        assert (told.verdict, told.words) == ("not due yet", f"{TICK} is not due yet: it is to be run in 20s.")

    def test_jitter_puts_it_off(self, scene: Scene, ann: Process) -> None:
        Node(ann, duty(rule="every 60s jitter=60s")).round()
        scene.until(FIRST)
        assert job(scene).due_at(EPOCH + FIRST) > EPOCH + FIRST
        assert why(ann, FIRST).verdict == "not due yet"

    def test_no_tick_had_come(self, scene: Scene, ann: Process) -> None:
        Node(ann).round()
        told = why(ann, FIRST - 1)
        assert (told.verdict, told.tick) == ("no tick", None)
        assert told.words == (
            "No tick of it (every 60s) had come by 13:46:59 since it was added at 13:46:40 by "
            "ann; the first is 13:47:00."
        )

    def test_there_was_no_such_schedule(self, scene: Scene, ann: Process) -> None:
        scene.until(FIRST + 30)
        adds(ann, rule="every 3600s")
        told = why(ann, FIRST)
        assert told.verdict == "no tick"
        assert told.words == ("There was no such schedule at 13:47:00: it was added at 13:47:30 by eve (the books).")

    def test_there_is_no_such_job(self, scene: Scene, ann: Process) -> None:
        with pytest.raises(NoSuchJob):
            why(ann, FIRST)

    def test_nothing_is_known_any_more(self, scene: Scene, ann: Process) -> None:
        node = Node(ann, duty(keep=2))
        for tick in range(5):
            node.rounds_until(FIRST + 60 * tick + 1)
            node.ends()
            node.round()
        told = why(ann, FIRST)
        assert told.verdict == "unknown"
        kept = "(it keeps 2 entries, and none for longer than 30d)"
        assert told.words == f"Nothing is known any more of the tick of 13:47:00: its history is over {kept}."
        told = why(ann, -30)
        assert told.verdict == "unknown"
        assert told.words.startswith("Nothing is known any more of 'report' at 13:46:10")
