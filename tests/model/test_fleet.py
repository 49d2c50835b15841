"""The nodes of a fleet, and whether it is frozen."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.control import Refused
from dibs.model.definition import Deployment
from dibs.model.fleet import (
    BEAT,
    DEPLOYMENT,
    DOWN_AFTER,
    FLEET,
    NODE,
    REMEMBERED,
    SLOW_AFTER,
    SLOW_ROUND,
    Fleet,
    Node,
    absence,
    fleet_of,
    freeze_of,
    frozen,
    melted,
    node_of,
    parted,
    silence,
    thawed,
)
from dibs.model.job import Pause, Terms
from dibs.model.record import ACTS, Act, noted, of_acts
from dibs.model.sheet import Change, Sheet
from tests.model.schedules import NOW, job, word

OURS = Deployment(NOW - 600, {"build": "1", "report": "1"})
THEIRS = Deployment(NOW - 60, {"report": "2"})


def node(name: str = "bob's", *, silent: float = 0.0, **more: Any) -> Node:
    return Node(name, NOW - 900, NOW - silent, more.pop("deployment", OURS.digest), **more)


def fleet(*nodes: Node, deployments: tuple[Deployment, ...] = (OURS, THEIRS)) -> Fleet:
    return Fleet(NOW, list(nodes), {each.digest: each for each in deployments})


TEXTS = st.text(max_size=9)
SOME = st.lists(TEXTS, max_size=3).map(tuple)
TIMES = st.floats(0.0, 4e9)


class TestNodes:
    @given(
        st.builds(
            Node,
            name=TEXTS,
            since=TIMES,
            beat_at=TIMES,
            deployment=TEXTS,
            version=TEXTS,
            labels=SOME,
            workers=st.integers(0),
            skew=st.floats(-1e9, 1e9),
            round_takes=TIMES,
            runs=SOME,
            holds=SOME,
            left_at=st.none() | TIMES,
        )
    )
    def test_it_comes_back_as_it_was(self, said: Node) -> None:
        assert node_of(Sheet(NODE + said.name, 1, said.text())) == said

    def test_what_one_of_a_newer_version_says_beside_it_is_left_out(self) -> None:
        text = json.dumps({**json.loads(node().text()), "mood": "fine"})
        assert node_of(Sheet("~node:bob's", 1, text)) == node()

    @pytest.mark.parametrize(
        ("silent", "state", "is_live"),
        [
            (-5.0, "up", True),
            (0.0, "up", True),
            (SLOW_AFTER, "up", True),
            (SLOW_AFTER + 1, "slow", True),
            (DOWN_AFTER, "slow", True),
            (DOWN_AFTER + 1, "down", False),
        ],
    )
    def test_how_it_is_is_told_by_how_long_it_was_silent(self, silent: float, state: str, *, is_live: bool) -> None:
        one = node(silent=silent)
        assert (one.state(NOW), one.is_live(NOW)) == (state, is_live)

    def test_one_whose_rounds_take_long_is_slow(self) -> None:
        assert node(round_takes=SLOW_ROUND).state(NOW) == "up"
        assert node(round_takes=SLOW_ROUND + 0.1).state(NOW) == "slow"

    def test_one_beat_may_be_lost(self) -> None:
        assert node(silent=2 * BEAT).state(NOW) == "up"

    def test_who_has_said_so_has_left_and_does_nothing(self) -> None:
        left = parted(node(runs=("report",), holds=("lock",)), NOW + 5)
        assert (left.state(NOW + 5), left.seen_at, left.runs, left.holds) == ("left", NOW + 5, (), ())
        assert not left.is_live(NOW + 5)

    def test_it_is_forgotten_an_hour_after_it_was_down_or_had_left(self) -> None:
        assert node().forget_at() == NOW + DOWN_AFTER + REMEMBERED
        assert parted(node(), NOW + 5).forget_at() == NOW + 5 + REMEMBERED


class TestFleets:
    def test_it_is_read_from_its_sheets(self) -> None:
        sheets = [
            Sheet(NODE + "bob's", 1, node().text()),
            Sheet(DEPLOYMENT + OURS.digest, 2, OURS.text()),
            Sheet(FLEET, 3, '{"frozen":null}'),
        ]
        assert fleet_of(sheets, NOW) == fleet(node(), deployments=(OURS,))

    def test_only_live_nodes_have_something_to_say(self) -> None:
        down, left = node("a", silent=99), parted(node("b"), NOW)
        live = node("c", deployment=THEIRS.digest)
        seen = fleet(down, left, live)
        assert (seen.live, seen.deployed) == ([live], [THEIRS])

    def test_a_deployment_is_left_over_once_none_of_its_nodes_was_heard_for_long(self) -> None:
        for silent, left_over in ((DOWN_AFTER, []), (DOWN_AFTER + 1, [OURS.digest])):
            for one in (node(silent=silent), parted(node(), NOW - silent)):
                assert fleet(one, node("c", deployment=THEIRS.digest)).left_over == left_over

    def test_but_not_before_its_first_node_can_have_been_heard(self) -> None:
        new = replace(THEIRS, seen_at=NOW - DOWN_AFTER)
        assert fleet(node(), deployments=(OURS, new)).left_over == []
        assert fleet(node(), deployments=(OURS, THEIRS)).left_over == [THEIRS.digest]


class TestWhoCanDoIt:
    def test_any_live_node_that_has_its_function_and_its_labels(self) -> None:
        seen = fleet(node(labels=("gpu", "eu")), node("c", deployment=THEIRS.digest))
        for wanted in ((), ("gpu",), ("eu", "gpu")):
            assert seen.lacks(job(function="build", terms=Terms(labels=wanted))) == ""

    def test_without_a_live_node_nobody_can(self) -> None:
        for seen in (fleet(), fleet(node(silent=99), parted(node("c"), NOW))):
            assert seen.lacks(job()) == "there was no live node"

    def test_nor_without_one_that_has_its_function(self) -> None:
        stranger = node("d", deployment="unheard of")
        assert fleet(node("c", deployment=THEIRS.digest), stranger).lacks(job(function="build")) == (
            "no live node can do 'build'"
        )

    def test_nor_without_one_that_has_all_its_labels(self) -> None:
        seen = fleet(node(labels=("eu",)), node("c", deployment=THEIRS.digest, labels=("gpu",)))
        lacks = "no live node that can do it has the label"
        assert seen.lacks(job(terms=Terms(labels=("us",)))) == f"{lacks} us"
        assert seen.lacks(job(function="build", terms=Terms(labels=("gpu", "eu")))) == f"{lacks}s eu, gpu"


def kept(change: Change | None, revision: int = 1) -> Sheet:
    """The fleet's sheet after a change of it."""
    assert change is not None
    assert change.text is not None
    return Sheet(change.name, revision, change.text)


class TestFreezing:
    def test_the_fleet_s_own_sheet_is_the_first_that_everybody_sees(self) -> None:
        change = frozen(None, word(reason="a move"), until=NOW + 60)
        assert (change.name, change.revision, change.acts_at, change.not_after) == (FLEET, 0, 0.0, inf)
        assert freeze_of(kept(change), NOW) == Pause("ann", NOW, "a move", NOW + 60)
        [entry] = change.entries
        assert noted(entry.text) == Act("frozen", NOW, "ann", "a move", until=NOW + 60)
        assert (entry.at, entry.tags) == (NOW, (ACTS, of_acts(FLEET)))

    def test_whoever_says_so_last_is_right(self) -> None:
        change = frozen(kept(frozen(None, word()), 4), word(NOW + 1, "longer"))
        assert change.revision == 4
        assert freeze_of(kept(change), NOW + 1e9) == Pause("ann", NOW + 1, "longer")

    def test_a_moment_that_has_passed_is_refused(self) -> None:
        with pytest.raises(Refused, match="that moment has passed: name one that is yet to come, or none"):
            frozen(None, word(), until=NOW)

    def test_once_it_is_thawed_nobody_has_to_look(self) -> None:
        change = thawed(kept(frozen(None, word()), 4), word(NOW + 9, "done"))
        assert (change.revision, change.acts_at) == (4, None)
        assert freeze_of(kept(change), NOW + 9) is None
        assert [noted(entry.text) for entry in change.entries] == [Act("thawed", NOW + 9, "ann", "done")]

    def test_what_is_not_frozen_or_not_any_more_is_not_thawed(self) -> None:
        over = kept(frozen(None, word(), until=NOW + 5))
        for found in (None, kept(thawed(kept(frozen(None, word())), word())), over):
            with pytest.raises(Refused, match="the fleet is not frozen"):
                thawed(found, word(NOW + 5))

    def test_when_its_time_is_over_it_melts_once_and_nobody_did_it(self) -> None:
        found = kept(frozen(None, word(), until=NOW + 5), 4)
        assert melted(None, NOW) is None
        assert melted(found, NOW + 4) is None
        change = melted(found, NOW + 5)
        assert change is not None
        assert (change.revision, change.acts_at, change.earliest, change.entries) == (4, None, NOW + 5, ())
        assert melted(kept(change), NOW + 6) is None


class TestWhatNodesNote:
    def test_a_silence_of_the_store_is_noted_when_it_is_over(self) -> None:
        entry = silence("bob's", NOW - 60, NOW)
        assert (entry.at, noted(entry.text)) == (NOW, Act("silent", NOW, "bob's", since=NOW - 60, until=NOW))

    def test_who_comes_and_finds_nobody_notes_since_when_nobody_was_there(self) -> None:
        entry = absence("bob's", fleet(node(), node("c", silent=99), node("d", silent=500)))
        assert entry is not None
        assert noted(entry.text) == Act("unattended", NOW, "bob's", since=NOW - 99, until=NOW)

    def test_the_first_of_all_cannot_know(self) -> None:
        entry = absence("bob's", fleet(node()))
        assert entry is not None
        assert noted(entry.text) == Act("unattended", NOW, "bob's", until=NOW)

    def test_who_finds_somebody_notes_nothing(self) -> None:
        assert absence("bob's", fleet(node(), node("c"))) is None
