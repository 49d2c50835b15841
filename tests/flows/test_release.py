"""Giving a lock back, and asking for more time."""

from __future__ import annotations

import pytest

from dibs.errors import LeaseLost, StoreUnreachable
from dibs.events import Acquired, Lost, Released
from dibs.flows.hold import FORGOTTEN, RAN_OUT, REACHED_MAX_HOLD
from dibs.flows.locking import prolong, release
from dibs.model.asks import Leave, Renew
from dibs.model.request import PATIENCE, Request
from dibs.model.tenure import Tenure
from tests.flows.scripted import EPOCH, SILENT, UNHEARD, Cancelled, Fate, Process, Scene

REQUEST = Request("a", 30.0)


class TestRelease:
    def test_a_lock_that_was_given_back_is_free(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST, actor="task")
        scene.until(5.0)
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        assert scene.server.locks == {}
        assert ann.events[1:] == [Released("a", hold.fence, 5.0)]
        assert (ann.desk.holds, ann.desk.entered, ann.desk.debts) == ({}, {}, {})

    def test_belief_ends_before_the_store_is_asked(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST, actor="task")
        ann.world.doom("leave", Fate(1.0, 0.5))
        task = scene.spawn(release(ann.world, ann.desk, hold))
        assert (hold.is_over, ann.desk.holds, ann.desk.entered) == (True, {}, {})
        assert scene.finish(task) is None
        assert ann.told(Released) == [Released("a", hold.fence, 1.5)]

    def test_a_second_release_is_a_no_op(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(release(ann.world, ann.desk, hold))
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        assert len(ann.world.asks("leave")) == 1
        assert len(ann.told(Released)) == 1

    def test_a_lock_the_store_has_forgotten_is_told_as_a_loss(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(REQUEST, watchers=[told.append])
        scene.server.locks.clear()
        loss = scene.play(release(ann.world, ann.desk, hold))
        assert loss is not None
        assert (loss.name, loss.fence, loss.reason) == ("a", hold.fence, FORGOTTEN)
        assert ann.events[1:] == [Lost("a", hold.fence, FORGOTTEN)]
        assert [loss.reason for loss in told] == [FORGOTTEN]

    def test_a_lease_lost_before_its_release_is_told_before_the_store_is_asked(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        scene.until(27.0)
        ann.world.doom("leave", Fate(1.0))
        task = scene.spawn(release(ann.world, ann.desk, hold))
        assert ann.events[1:] == [Lost("a", hold.fence, RAN_OUT)]
        loss = scene.finish(task)
        assert loss is not None
        assert (loss.reason, scene.server.locks) == (RAN_OUT, {})
        assert ann.events[1:] == [Lost("a", hold.fence, RAN_OUT)], "neither released nor lost twice"

    def test_a_silent_store_is_told_and_the_leave_is_owed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(release(ann.world, ann.desk, hold))
        assert scene.now == PATIENCE
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", None)
        assert hold.is_over
        assert ann.events[1:] == []

    def test_a_release_that_is_interrupted_is_owed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", SILENT)
        task = scene.spawn(release(ann.world, ann.desk, hold))
        scene.until(0.5)
        task.cancel()
        with pytest.raises(Cancelled):
            task.outcome()
        scene.until(1.0)
        assert [type(ask) for ask in ann.world.asks("leave")] == [Leave, Leave]
        assert (scene.server.locks, ann.desk.debts) == ({}, {})

    def test_a_repeated_leave_that_finds_nothing_is_no_loss(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", UNHEARD)
        with pytest.raises(StoreUnreachable):
            scene.play(release(ann.world, ann.desk, hold))
        scene.until(3.0)
        assert ann.desk.debts == {}
        assert ann.told(Lost) == []

    def test_a_renewal_that_finds_it_released_is_no_loss(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", Fate(1.0))
        scene.until(10.5)
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(20.0)
        assert len(ann.world.asks("keep")) == 1
        assert ann.events == [Acquired("a", hold.fence, 0.0), Released("a", hold.fence, 10.5)]


class TestProlong:
    def test_a_lease_is_prolonged_by_its_whole_ttl_from_now(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(5.0)
        assert scene.play(prolong(ann.world, ann.desk, hold)) is None
        assert hold.tenure == Tenure(30.0, 5.0)
        assert ann.world.asks("keep") == [[("a", Renew("ann-1", hold.fence, 30.0))]]
        holder = scene.server.locks["a"].holder
        assert holder is not None
        assert holder.expires_at == EPOCH + 35.0

    def test_trust_counts_from_the_ask(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(5.0)
        ann.world.doom("keep", Fate(0.5, 0.5))
        scene.play(prolong(ann.world, ann.desk, hold))
        assert hold.tenure == Tenure(30.0, 5.0)

    def test_a_lease_that_is_not_renewed_by_itself_can_be_prolonged_by_hand(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, renew=False))
        scene.until(5.0)
        assert scene.play(prolong(ann.world, ann.desk, hold)) is None
        assert hold.tenure == Tenure(30.0, 5.0)

    def test_nothing_is_asked_when_max_hold_allows_no_more(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, max_hold=30.0))
        scene.until(5.0)
        assert scene.play(prolong(ann.world, ann.desk, hold)) is None
        assert (ann.world.asks("keep"), hold.tenure) == ([], Tenure(30.0, 0.0))

    def test_a_lease_at_its_max_hold_is_lost_when_trust_ends(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, max_hold=30.0))
        scene.until(27.0)
        loss = scene.play(prolong(ann.world, ann.desk, hold))
        assert loss is not None
        assert loss.reason == REACHED_MAX_HOLD

    def test_a_lease_that_ran_out_is_told_as_lost_and_not_asked_for(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(27.0)
        loss = scene.play(prolong(ann.world, ann.desk, hold))
        assert loss is not None
        assert (loss.reason, ann.world.asks("keep")) == (RAN_OUT, [])
        assert ann.told(Lost) == [Lost("a", hold.fence, RAN_OUT)]
        assert ann.desk.holds == {}

    def test_a_lease_the_store_has_forgotten_is_lost(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.server.locks.clear()
        scene.until(5.0)
        loss = scene.play(prolong(ann.world, ann.desk, hold))
        assert loss is not None
        assert loss.reason == FORGOTTEN
        assert ann.told(Lost) == [Lost("a", hold.fence, FORGOTTEN)]

    def test_an_answer_that_comes_after_trust_ended_is_too_late(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(26.0)
        ann.world.doom("keep", Fate(0.0, 1.5))
        loss = scene.play(prolong(ann.world, ann.desk, hold))
        assert loss is not None
        assert (loss.reason, hold.tenure) == (RAN_OUT, Tenure(30.0, 0.0))

    def test_a_silent_store_is_told_and_the_lease_stands_while_it_is_trusted(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.is_silent = True
        scene.until(5.0)
        with pytest.raises(StoreUnreachable):
            scene.play(prolong(ann.world, ann.desk, hold))
        assert (scene.now, hold.lost_because) == (5.0 + PATIENCE, None)
        assert ann.desk.holds == {"ann-1": hold}

    def test_a_lease_that_was_released_is_not_asked_for(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(5.0)
        assert scene.play(prolong(ann.world, ann.desk, hold)) is None
        assert ann.world.asks("keep") == []
