"""Workers on a store that keeps their sheets alone, and hands no lock over."""

from __future__ import annotations

from dibs.model.job import Terms
from dibs.model.names import WORKER
from dibs.stores.direct import DirectLocks
from tests.flows.hands import FAILED, OK, Hand
from tests.flows.scripted import Process, Scene

HEAD_START = 0.5


class Voting(DirectLocks):
    """It has no look at what is due."""

    head_start = HEAD_START

    def keeps(self, sheet: str) -> bool:
        return sheet.startswith(WORKER)


def a_hand(process: Process, *, most: int = 5) -> Hand:
    process.desk.store = Voting("")
    return Hand(process, most=most)


def test_what_goes_by_itself_is_thrown_away_by_nobody(scene: Scene, ann: Process) -> None:
    hand = a_hand(ann)
    assert hand.ends(hand.turn(), OK)
    scene.until(Terms().keep_for + 1.0)
    other = Hand(ann, key="other")
    assert other.ends(other.turn(), OK)
    assert "~worker:mylock" in scene.server.sheets[""].kept


def test_one_that_has_failed_leaves_the_lock_to_those_who_wait(scene: Scene, ann: Process) -> None:
    hand = a_hand(ann)
    turn, began = hand.turn(), scene.now
    assert hand.ends(turn, FAILED)
    assert scene.now >= began + HEAD_START
    assert hand.turn().attempt == 2


def test_but_not_where_nobody_tries_again(scene: Scene, ann: Process) -> None:
    hand = a_hand(ann, most=1)
    turn, began = hand.turn(), scene.now
    assert hand.ends(turn, FAILED)
    assert scene.now < began + HEAD_START
