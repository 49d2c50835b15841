"""Sheets that nobody here can read: of a newer dibs, or by another hand. All else goes on, and it is told once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dibs.errors import ActRefused
from dibs.events import SheetUnreadable
from dibs.flows import controlling
from dibs.flows.defining import listed
from dibs.flows.muster import survey
from dibs.model.fleet import BEAT, DEPLOYMENT, FLEET, NODE
from dibs.model.rota import Step
from dibs.model.sheet import Sheet
from tests.flows.nodes import NAME, Node, duty, job
from tests.flows.scripted import EPOCH, Process, Scene

FIRST = 20.5
WELL: dict[str, Any] = {"format": 1, "version": 1, "rule": "every 60s", "terms": {}, "due": EPOCH, "function": NAME}


def sheet(**other: Any) -> str:
    return json.dumps({**WELL, **other})


UNREADABLE = {
    "no JSON": "not JSON",
    "nothing": "",
    "a list": "[]",
    "a number": "7",
    "no format": "{}",
    "no parts": '{"format": 1}',
    "more parts": sheet(moon="full"),
    "more terms": sheet(terms={"moon": "full"}),
    "more of a run": sheet(runs=[{"tick": EPOCH, "moon": "full"}]),
    "a rule nobody knows": sheet(rule="whenever"),
    "a zone nobody knows": sheet(rule="cron 0 3 * * * Mars/Olympus"),
    "a tick in words": sheet(due="soon"),
    "a tick far off": sheet(due=1e300),
    "a tick as far off": sheet(due=10**300),
    "a tick that is none": '{"format": 1, "version": 1, "rule": "every 60s", "terms": {}, "due": NaN}',
    "a version in words": sheet(version="second"),
    "terms in words": sheet(terms="usual"),
    "a term in words": sheet(terms={"grace": "long"}),
    "labels that are one": sheet(terms={"labels": 7}),
    "runs that are one": sheet(runs={"tick": EPOCH}),
    "a run in words": sheet(runs=["now"]),
    "a run far off": sheet(runs=[{"tick": EPOCH, "not_before": "soon"}]),
    "a pause in words": sheet(pause="long"),
    "a flag": sheet(version=True),
}


def written_by_hand(scene: Scene, name: str, text: str) -> None:
    kept = scene.server.sheets[""]
    kept.kept[name], kept.acts_at[name] = Sheet(name, 1, text), EPOCH


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
class TestJobs:
    def test_a_node_runs_all_others_and_tells_of_it_once(self, scene: Scene, ann: Process, text: str) -> None:
        node = Node(ann)
        written_by_hand(scene, "odd", text)
        node.rounds_until(FIRST)
        assert node.ticks == [20.0]
        assert [event.name for event in ann.told(SheetUnreadable)] == ["odd"]
        assert scene.server.sheets[""].kept["odd"].text == text, "it is left to those who know it"

    def test_one_of_its_own_name_is_left_alone(self, scene: Scene, ann: Process, text: str) -> None:
        node = Node(ann, duty(), duty("odd"))
        written_by_hand(scene, "odd", text)
        node.rounds_until(FIRST)
        assert node.ticks == [20.0]
        assert scene.server.sheets[""].kept["odd"].text == text

    def test_the_others_are_listed(self, scene: Scene, ann: Process, text: str) -> None:
        Node(ann).round()
        written_by_hand(scene, "odd", text)
        found = scene.play(listed(ann.world, ann.desk, prefix="", after="", limit=9))
        assert [each.job.name for each in found] == [NAME]


def test_it_is_told_again_when_it_was_written_anew(scene: Scene, ann: Process) -> None:
    node = Node(ann)
    written_by_hand(scene, "odd", "[]")
    node.round()
    scene.server.sheets[""].kept["odd"] = Sheet("odd", 2, "{}")
    node.round()
    assert [event.name for event in ann.told(SheetUnreadable)] == ["odd", "odd"]


NO_NODES = ["[]", "nonsense", "{}", '{"name":"x","since":"y","beat_at":"z"}', '{"name":"x","since":0,"beat_at":null}']


@pytest.mark.parametrize("text", NO_NODES)
def test_a_node_that_cannot_be_read_is_none(scene: Scene, ann: Process, text: str) -> None:
    node = Node(ann)
    scene.server.sheets[""].kept[NODE + "odd"] = Sheet(NODE + "odd", 1, text)
    node.rounds_until(FIRST)
    assert node.ticks == [20.0]
    assert [each.name for each in scene.play(survey(ann.world, ann.desk)).nodes] == ["ann"]
    assert [event.name for event in ann.told(SheetUnreadable)] == [NODE + "odd"], "once"


NO_DEPLOYMENTS = ["[]", "nonsense", "{}", '{"seen_at":"x","definitions":{}}', '{"seen_at":0,"definitions":["report"]}']


@pytest.mark.parametrize("text", NO_DEPLOYMENTS)
def test_a_deployment_that_cannot_be_read_is_none(scene: Scene, ann: Process, text: str) -> None:
    node = Node(ann)
    scene.server.sheets[""].kept[DEPLOYMENT + "odd"] = Sheet(DEPLOYMENT + "odd", 1, text)
    node.rounds_until(FIRST)
    assert node.ticks == [20.0]
    assert [event.name for event in ann.told(SheetUnreadable)] == [DEPLOYMENT + "odd"], "once"


@pytest.mark.parametrize("text", NO_DEPLOYMENTS)
def test_one_s_own_is_said_anew(scene: Scene, ann: Process, text: str) -> None:
    node = Node(ann)
    node.round()
    [digest] = scene.play(survey(ann.world, ann.desk)).deployments
    name = DEPLOYMENT + digest
    scene.server.sheets[""].kept[name] = Sheet(name, 1, text)
    node.rounds_until(BEAT + 1)
    assert list(scene.play(survey(ann.world, ann.desk)).deployments) == [digest]


@pytest.mark.parametrize("text", ["[]", "nonsense", "{}", '{"frozen":7}', '{"frozen":{"moon":"full"}}'])
def test_a_fleet_whose_sheet_cannot_be_read_is_frozen_until_somebody_thaws_it(
    scene: Scene, ann: Process, text: str
) -> None:
    node = Node(ann)
    node.round()
    written_by_hand(scene, FLEET, text)
    node.rounds_until(FIRST)
    assert node.ticks == []
    freeze = scene.play(controlling.freezing(ann.world, ann.desk))
    assert freeze is not None
    assert freeze.reason == "its sheet cannot be read here: upgrade dibs, or thaw the fleet"
    scene.play(controlling.thaw(ann.world, ann.desk, order=controlling.Order("thaw")))
    node.rounds_until(FIRST + 1)
    assert node.ticks == [20.0]


def test_whoever_acts_on_one_is_told_that_it_cannot_be(scene: Scene, ann: Process) -> None:
    Node(ann).round()
    written_by_hand(scene, NAME, sheet(moon="full"))
    order = controlling.Order("pause")
    with pytest.raises(ActRefused, match="only a newer dibs can read its sheet, or nobody"):
        scene.play(controlling.act(ann.world, ann.desk, NAME, lambda found, _: Step(found), order=order))
    with pytest.raises(ActRefused, match="only a newer dibs can read its sheet, or nobody"):
        scene.play(controlling.find(ann.world, ann.desk, NAME))


def test_a_sheet_that_was_well_is_read_again(scene: Scene, ann: Process) -> None:
    node = Node(ann)
    written_by_hand(scene, "even", sheet())
    node.rounds_until(1)
    assert job(scene, "even").done_by == NAME
    assert ann.told(SheetUnreadable) == []
