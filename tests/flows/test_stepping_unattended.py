"""Steps that no node can do: they wait, and whatever can be done does not wait behind them."""

from __future__ import annotations

from dibs.flows.sheets import MOST_AT_ONCE
from dibs.model.rota import PUT_OFF
from dibs.model.steps import state
from tests.flows.nodes import Node, duty, job
from tests.flows.scripted import EPOCH, Process, Scene
from tests.flows.test_stepping import FAILED, SHEET, charge, outcomes, submits

MANY = 3 * MOST_AT_ONCE


def looks(process: Process) -> int:
    """How often it has asked what is due."""
    return len(process.world.asks("due"))


def test_thousands_of_them_are_not_looked_at_in_each_round(scene: Scene, ann: Process) -> None:
    for number in range(MANY):
        submits(ann, f"{number:04}")
    node = Node(ann, duty())
    node.rounds_until(scene.now + 2 * PUT_OFF)
    before = looks(ann)
    node.round()
    assert looks(ann) == before + 1
    assert len(scene.server.sheets[""].due(scene.store_now(), 0, MANY).sheets) < MOST_AT_ONCE
    steps = [job(scene, f"charge~step:{number:04}") for number in range(MANY)]
    assert {state(each) for each in steps} == {"due"}
    assert {len(outcomes(scene, each.name)) for each in steps} == {0}, "nothing has happened to them"


def test_one_with_their_code_does_them_within_that_time(scene: Scene, ann: Process, bob: Process) -> None:
    submits(ann)
    other = Node(bob, duty())
    other.rounds_until(100.0)
    next_at = job(scene, SHEET).waiting[0].not_before - EPOCH
    assert scene.now < next_at <= scene.now + PUT_OFF
    able = Node(ann, charge())
    able.rounds_until(next_at - 0.1)
    assert able.begun == []
    able.rounds_until(next_at + 0.6)
    assert [mine.job for mine in able.begun] == [SHEET]


def test_one_that_is_new_is_looked_at_again_soon(scene: Scene, ann: Process, bob: Process) -> None:
    other = Node(bob, duty())
    other.round()
    submits(ann)
    other.rounds_until(2.0)
    able = Node(ann, charge())
    able.rounds_until(5.0)
    assert [mine.job for mine in able.begun] == [SHEET], "who restarts its only node does not wait for half a minute"


def test_it_is_so_with_one_that_has_failed_before(scene: Scene, ann: Process, bob: Process) -> None:
    submits(ann)
    able, other = Node(ann, charge()), Node(bob, duty())
    able.round()
    able.ends(FAILED)
    able.round()
    able.retires()
    other.rounds_until(60.0)
    [run] = job(scene, SHEET).waiting
    assert (run.attempt, run.failures) == (2, 1)
    assert EPOCH + scene.now < run.not_before <= EPOCH + scene.now + PUT_OFF
    assert [outcome for _, outcome, _ in outcomes(scene)] == ["failed"]
