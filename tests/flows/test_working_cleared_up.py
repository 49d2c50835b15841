"""What is kept of a worker's rounds goes when nobody came back to them for long."""

from __future__ import annotations

from dibs.model.job import Terms
from tests.flows.hands import OK, Hand
from tests.flows.nodes import Node
from tests.flows.scripted import SILENT, Process, Scene

KEPT_FOR = Terms().keep_for
SHEET = "~worker:mylock"


def kept(scene: Scene) -> set[str]:
    return {name for name in scene.server.sheets[""].kept if name.startswith("~worker:")}


def works(process: Process, key: str = "mylock") -> None:
    hand = Hand(process, key=key)
    assert hand.ends(hand.turn(), OK)


def test_another_worker_throws_it_away(scene: Scene, ann: Process) -> None:
    works(ann)
    scene.until(KEPT_FOR - 1.0)
    works(ann, "other")
    assert kept(scene) == {SHEET, "~worker:other"}
    scene.until(KEPT_FOR + 1.0)
    works(ann, "other")
    assert kept(scene) == {"~worker:other"}


def test_a_node_throws_it_away(scene: Scene, ann: Process) -> None:
    works(ann)
    node = Node(ann)
    scene.until(KEPT_FOR - 1.0)
    node.round()
    assert kept(scene) == {SHEET}
    scene.until(KEPT_FOR + 1.0)
    node.round()
    assert kept(scene) == set()


def test_each_round_keeps_it_for_longer(scene: Scene, ann: Process) -> None:
    works(ann)
    scene.until(KEPT_FOR - 1.0)
    works(ann)
    scene.until(KEPT_FOR + 1.0)
    Node(ann).round()
    assert kept(scene) == {SHEET}


def test_a_store_that_is_silent_meanwhile_takes_nothing_from_what_was_done(scene: Scene, ann: Process) -> None:
    hand = Hand(ann)
    turn = hand.turn()
    ann.world.doom("due", SILENT)
    assert hand.ends(turn, OK)


def test_nor_from_what_one_is_told_who_watched(scene: Scene, ann: Process, bob: Process) -> None:
    first, second = Hand(ann), Hand(bob)
    turn, waits = first.turn(), second.waits()
    scene.until(1.0)
    bob.world.doom("beat", SILENT)
    assert first.ends(turn, OK)
    assert scene.finish(waits) == "completed"
