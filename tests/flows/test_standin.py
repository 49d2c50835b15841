"""Ticks by a node's own clock while the store is silent."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import StoreUnreachable
from dibs.events import PolicyUsed
from dibs.flows.shift import LOOK_EVERY, REUNION
from dibs.flows.standin import first_here
from dibs.model.rota import Ending
from tests.flows.nodes import NAME, Node, duty, history, job, outcomes
from tests.flows.scripted import EPOCH, UNHEARD, Process, Scene

FIRST = 20.0


def silenced(process: Process, **terms: Any) -> Node:
    """A node whose store has fallen silent."""
    node = Node(process, duty(on_outage="open", **terms))
    node.round()
    process.world.is_silent = True
    return node


def test_they_are_run_without_the_store_and_told_when_it_is_back(scene: Scene, ann: Process) -> None:
    node = silenced(ann)
    node.rounds_until(FIRST + 3)
    assert node.ticks == [FIRST]
    assert [(event.name, event.policy) for event in ann.told(PolicyUsed)] == [(NAME, "open")]
    node.ends(Ending("ok", result="1", log=("alone",)))
    node.rounds_until(FIRST + 63)
    node.ends(Ending("failed", "why", error="boom"))
    assert (node.ticks, outcomes(scene)) == ([FIRST, FIRST + 60], [])
    ann.world.is_silent = False
    node.round()
    assert node.shift.charge.underway == {}
    first, second = history(scene)
    assert (first.outcome, first.source, first.node, first.log) == ("ok", "outage", "ann", ("alone",))
    assert (second.outcome, second.reason, second.error) == ("failed", "why", "boom")
    assert job(scene).next_due == EPOCH + FIRST + 120
    node.rounds_until(FIRST + 100)
    assert node.ticks == [FIRST, FIRST + 60]


def test_each_node_runs_them_and_all_of_it_is_told(scene: Scene, ann: Process, bob: Process) -> None:
    nodes = [silenced(ann), silenced(bob)]
    scene.until(FIRST)
    for node in nodes:
        node.round()
        node.ends()
    assert [node.ticks for node in nodes] == [[FIRST], [FIRST]]
    ann.world.is_silent = bob.world.is_silent = False
    for node in nodes:
        node.round()
    assert [(record.tick - EPOCH, record.node) for record in history(scene)] == [(FIRST, "ann"), (FIRST, "bob")]


def test_one_that_has_not_ended_when_the_store_is_back_is_told_of_later(scene: Scene, ann: Process) -> None:
    node = silenced(ann)
    node.rounds_until(FIRST + 3)
    ann.world.is_silent = False
    node.round()
    assert (node.ticks, [run.source for run in job(scene).running]) == ([FIRST], ["outage"])
    node.ends()
    node.round()
    assert outcomes(scene) == [(FIRST, "ok")]


def test_one_whose_node_dies_then_is_lost_as_any_other(scene: Scene, ann: Process, bob: Process) -> None:
    node = silenced(ann)
    node.rounds_until(FIRST + 3)
    ann.world.is_silent = False
    node.round()
    Node(bob, duty(on_outage="open")).rounds_until(FIRST + 50)
    assert [(record.outcome, record.node, record.source) for record in history(scene)] == [("lost", "ann", "outage")]


def test_what_was_told_unheard_is_told_again_and_noted_once(scene: Scene, ann: Process) -> None:
    node = silenced(ann, grace=10.0)
    scene.until(FIRST + 65)
    node.round()
    ann.world.is_silent = False
    ann.world.doom("amend", UNHEARD)
    node.ends()
    node.round()
    node.round()
    assert outcomes(scene) == [(FIRST, "missed"), (FIRST + 60, "ok")]


def test_where_the_store_has_never_been_heard_of_the_machine_s_clock_is_gone_by(scene: Scene, ann: Process) -> None:
    ann.world.is_silent = True
    node = Node(ann, duty(on_outage="open"))
    node.rounds_until(FIRST + 3)
    assert node.ticks == [FIRST]


def test_while_one_goes_on_the_next_is_skipped_and_told_of(scene: Scene, ann: Process) -> None:
    node = silenced(ann)
    node.rounds_until(FIRST + 63)
    assert node.ticks == [FIRST]
    node.ends()
    ann.world.is_silent = False
    node.round()
    assert sorted(outcomes(scene)) == [(FIRST, "ok"), (FIRST + 60, "skipped")]


def test_in_a_long_silence_they_are_not_late(scene: Scene, ann: Process) -> None:
    node = silenced(ann)
    node.rounds_until(FIRST + 1)
    assert [mine.run.started_at - EPOCH - FIRST <= 0.75 for mine in node.begun] == [True]


def test_what_the_store_has_thrown_away_is_not_told_of(scene: Scene, ann: Process) -> None:
    node = silenced(ann)
    node.rounds_until(FIRST + 1)
    scene.server.sheets.clear()
    ann.world.is_silent = False
    node.round()
    assert node.begun[0].is_loose


def test_of_several_jobs_each_is_told_of(scene: Scene, ann: Process) -> None:
    node = Node(ann, duty("a", on_outage="open"), duty("b", on_outage="open"), duty("c"))
    node.round()
    ann.world.is_silent = True
    node.rounds_until(FIRST + 1)
    node.ends()
    ann.world.is_silent = False
    node.round()
    assert [outcomes(scene, name) for name in "ab"] == [[(FIRST, "ok")], [(FIRST, "ok")]]


def test_unless_they_may_overlap(scene: Scene, ann: Process) -> None:
    node = silenced(ann, overlap="allow")
    node.rounds_until(FIRST + 63)
    assert node.ticks == [FIRST, FIRST + 60]


def test_what_comes_too_late_is_missed_and_told_of(scene: Scene, ann: Process) -> None:
    node = silenced(ann, grace=10.0)
    scene.until(FIRST + 125)
    node.round()
    assert node.ticks == [FIRST + 120]
    ann.world.is_silent = False
    node.ends()
    node.round()
    assert outcomes(scene) == [(FIRST, "missed"), (FIRST + 60, "missed"), (FIRST + 120, "ok")]


def test_a_store_that_refuses_is_not_silent(scene: Scene, ann: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuses(*_: Any, **__: Any) -> Any:
        raise StoreUnreachable("memory://scene", after=0.0, why="no permission", is_outage=False)

    node = Node(ann, duty(on_outage="open"))
    node.round()
    scene.until(FIRST)
    monkeypatch.setattr(ann.world, "ask", refuses)
    node.round()
    assert (node.begun, ann.told(PolicyUsed)) == ([], [])


def test_a_claim_of_which_nobody_knows_is_not_run_again_afterwards(scene: Scene, ann: Process) -> None:
    node = Node(ann, duty(on_outage="open"))
    node.round()
    scene.until(FIRST)
    ann.world.doom("amend", UNHEARD)
    node.round()
    assert node.ticks == [FIRST], "by the policy, as the claim was not answered"
    node.ends()
    node.rounds_until(FIRST + 30)
    assert node.ticks == [FIRST]
    assert (outcomes(scene), job(scene).runs) == ([(FIRST, "ok")], ())


def test_once_a_machine_is_once_a_machine(scene: Scene, ann: Process, bob: Process) -> None:
    nodes = [Node(process, duty(on_outage="local")) for process in (ann, bob)]
    for node in nodes:
        node.round()
    ann.world.is_silent = bob.world.is_silent = True
    nodes[1].is_first_here = False
    for node in nodes:
        node.rounds_until(FIRST + 3)
        scene.now = 1.0
    assert [node.ticks for node in nodes] == [[FIRST], []]


class TestTheFirstToHearOfTheStore:
    """It knows nothing of what others have run without it, and are about to tell."""

    @pytest.fixture
    def nodes(self, scene: Scene, ann: Process, bob: Process) -> list[Node]:
        """One has run a tick without the store, and the other has not."""
        nodes = [Node(process, duty(on_outage="local"), duty("closed")) for process in (ann, bob)]
        for node in nodes:
            node.round()
        ann.world.is_silent = bob.world.is_silent = True
        nodes[1].is_first_here = False
        scene.until(FIRST)
        for node in nodes:
            node.round()
            node.ends()
        assert [node.ticks for node in nodes] == [[FIRST], []]
        ann.world.is_silent = bob.world.is_silent = False
        return nodes

    def test_leaves_their_ticks_to_them(self, scene: Scene, nodes: list[Node]) -> None:
        there, here = nodes
        here.round()
        there.round()
        here.ends()
        here.rounds_until(scene.now + 2 * REUNION)
        assert [mine.job for mine in here.begun] == ["closed"], "for that one nobody else can have run"
        assert outcomes(scene) == [(FIRST, "ok")]

    def test_claims_them_soon_if_nobody_tells_of_them(self, scene: Scene, nodes: list[Node]) -> None:
        _, here = nodes
        here.rounds_until(scene.now + REUNION + LOOK_EVERY + 0.1)
        assert [mine.job for mine in here.begun] == ["closed", NAME]


class TestFirstHere:
    def test_who_asks_first_has_it_and_none_before_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        def asks(process: Process, tick: float) -> bool:
            return scene.play(first_here(process.world, process.desk, NAME, tick))

        assert [asks(ann, 5.0), asks(bob, 5.0), asks(bob, 6.0), asks(ann, 5.5), asks(ann, 7.5)] == [
            True,
            False,
            True,
            False,
            True,
        ]

    @pytest.mark.parametrize("other", ["bob"])
    def test_who_was_faster_has_it(self, scene: Scene, ann: Process, other: str) -> None:
        them = scene.process(other)
        mine = scene.spawn(first_here(ann.world, ann.desk, NAME, 5.0))
        theirs = scene.spawn(first_here(them.world, them.desk, NAME, 5.0))
        assert [scene.finish(mine), scene.finish(theirs)] == [True, False]
