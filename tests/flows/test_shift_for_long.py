"""What a node keeps in mind over many rounds, while schedules come and go: not all that there ever was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.flows import marks
from dibs.flows.sheets import MOST_NOTED
from dibs.model.control import removed
from dibs.model.definition import Definition
from dibs.model.job import Job, Run, Terms
from dibs.model.ticks import MOST_TOLD
from tests.flows.nodes import NAME, Node, duty
from tests.flows.scripted import EPOCH, Process, Scene
from tests.flows.test_shift_and_people import added_as_data, done

MANY = 30


def came_and_went(scene: Scene, node: Node) -> Iterator[str]:
    """Schedules that run once each, one after the other."""
    for number in range(MANY):
        name = f"shop {number}"
        added_as_data(scene, Definition(name, "every 60s", Terms(), NAME))
        node.rounds_until(scene.now + 60.5)
        node.ends()
        node.round()
        done(scene, removed, name)
        yield name


def test_it_forgets_those_that_are_long_gone(scene: Scene, ann: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST_JOBS", 5)
    node = Node(ann, duty(rule=""), duty("careful", on_outage="open"))
    names = list(came_and_went(scene, node))
    assert {mine.job for mine in node.begun} == {"careful", *names}, "each of them was run"
    known = node.shift._marks
    assert len(known.names) <= 2 * 5
    assert names[-1] in known.names, "what it has dealt with last, it knows"
    assert set(node.shift._stand_in._through) <= {"careful"}
    assert set(node.shift.charge._spoken_of) <= {"careful", names[-1]}


def test_what_was_dealt_with_again_is_not_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST_JOBS", 2)
    known = marks.Marks()
    for name in "abac":
        known.note_tick(Job(name, 1, 1, "every 60s", Terms(), EPOCH + 60), EPOCH, now=EPOCH)
        known.note_begun(name, Run(EPOCH))
    assert sorted(known.names) == ["a", "c"]


def test_after_a_long_absence_no_single_change_keeps_the_store_busy(scene: Scene, ann: Process) -> None:
    node = Node(ann, *(duty(f"shop {number}", rule="every 1s") for number in range(5)))
    node.round()
    scene.until(3600)
    node.rounds_until(3602)
    noted = [sum(len(change.entries) for change in changes) for changes in ann.world.asks("amend")]
    assert sum(noted) > 5 * MOST_TOLD, "each has missed an hour"
    assert max(noted) <= MOST_NOTED
    assert len({mine.job for mine in node.begun}) == 5
