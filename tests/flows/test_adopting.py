"""A lease that goes from one process to another."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from dibs.errors import ClientClosed, ConfigError, LeaseLost, StoreUnreachable
from dibs.events import Abandoned, Acquired, Adopted, HandedOn, Lost, Released
from dibs.flows.adopting import adopt, hand_on
from dibs.flows.hold import EVICTED, FORGOTTEN, RAN_OUT, REACHED_MAX_HOLD, Hold
from dibs.flows.locking import prolong, release
from dibs.model.asks import Leave, Renew
from dibs.model.baton import Baton
from dibs.model.request import PATIENCE, Request
from dibs.model.tenure import Tenure, Verdict
from tests.flows.scripted import EPOCH, REFUSED, SILENT, UNHEARD, Fate, Process, Scene

REQUEST = Request("a", 30.0)


def handed(process: Process, hold: Hold) -> Baton:
    baton = hand_on(process.desk, hold, now=process.scene.now, namespace="shop")
    assert baton is not None
    return baton


def adopted(process: Process, baton: Baton, **options: Any) -> Hold:
    hold = process.scene.play(adopt(process.world, process.desk, baton, **options))
    assert isinstance(hold, Hold)
    return hold


class Bearer:
    pass


class TestHandingOn:
    def test_who_hands_it_on_is_done_with_it_and_the_lock_stays_taken(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        bearer: Bearer | None = Bearer()
        hold = ann.holds(REQUEST, watchers=[told.append], bearer=bearer)
        ann.start_keeper()
        scene.until(5.0)
        assert handed(ann, hold) == Baton("shop", "a", hold.owner, hold.fence, 30.0, 5.0)
        del bearer
        gc.collect()
        scene.until(25.0)
        assert not ann.world.asks("keep"), "it is not renewed any more"
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        assert not ann.world.asks("leave"), "nor released"
        assert (told, hold.lost_because, hold.is_over, ann.desk.holds) == ([], None, True, {})
        assert scene.server.locks
        assert ann.events == [Acquired("a", hold.fence, 0.0), HandedOn("a", hold.fence, 5.0)]

    def test_what_was_wished_of_it_and_what_must_be_barred_goes_along(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, renew=False, max_hold=60.0, at_least=2.0))
        hold.bar_until = EPOCH + 9.0
        expected = Baton("shop", "a", hold.owner, hold.fence, 30.0, 0.0, False, 60.0, 2.0, EPOCH + 9.0)
        assert handed(ann, hold) == expected

    def test_what_is_over_cannot_be_handed_on(self, scene: Scene, ann: Process) -> None:
        released, lost, handed_on = ann.holds(REQUEST), ann.holds(Request("b", 30.0)), ann.holds(Request("c", 30.0))
        scene.play(release(ann.world, ann.desk, released))
        handed(ann, handed_on)
        scene.until(27.0)
        for hold in (released, lost, handed_on):
            assert hand_on(ann.desk, hold, now=scene.now, namespace="") is None
        assert lost.lost_because == RAN_OUT
        assert len(ann.told(HandedOn)) == 1

    def test_of_two_who_end_it_one_wins(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold._still_to_do.remove("end")  # another thread has just begun to release it
        assert hand_on(ann.desk, hold, now=0.0, namespace="") is None

    def test_a_renewal_that_was_under_way_changes_nothing(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", Fate(1.0, 1.0))
        scene.until(10.5)
        baton = handed(ann, hold)
        scene.until(20.0)
        assert (hold.tenure, hold.lost_because) == (Tenure(30.0, 0.0), None)
        assert adopted(bob, baton).check(20.0) is Verdict.KEEP


class TestAdopting:
    def test_it_is_kept_trusted_fenced_and_released_like_any_other(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        scene.until(20.0)
        hold = adopted(bob, baton)
        assert bob.world.asks("keep")[-1] == [("a", Renew(baton.owner, baton.fence, 30.0))]
        assert (hold.fence, hold.tenure, hold.waited) == (baton.fence, Tenure(30.0, 20.0), 0.0)
        assert bob.desk.seen_fence == baton.fence
        bob.start_keeper()
        scene.until(100.0)
        assert hold.check(100.0) is Verdict.KEEP
        assert scene.play(release(bob.world, bob.desk, hold)) is None
        assert scene.server.locks == {}
        assert bob.events == [Adopted("a", baton.fence), Released("a", baton.fence, 80.0)]

    def test_trust_counts_from_the_ask(self, scene: Scene, ann: Process, bob: Process) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        bob.world.doom("keep", Fate(0.5, 1.0))
        assert adopted(bob, baton).tenure == Tenure(30.0, 0.0)

    def test_its_time_goes_on_where_it_was(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(Request("a", 30.0, max_hold=40.0))
        scene.until(25.0)
        baton = handed(ann, hold)
        hold = adopted(bob, baton)
        assert (hold.tenure, hold.held_for(25.0)) == (Tenure(15.0, 25.0), 25.0)
        bob.start_keeper()
        scene.until(41.0)
        assert hold.lost_because == REACHED_MAX_HOLD

    def test_one_that_is_not_renewed_gets_a_whole_ttl_as_by_extending_it(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        baton = handed(ann, ann.holds(Request("a", 30.0, renew=False)))
        scene.until(20.0)
        hold = adopted(bob, baton)
        bob.start_keeper()
        scene.until(45.0)
        assert hold.check(45.0) is not Verdict.LOST
        scene.until(48.0)
        assert hold.lost_because is not None

    @pytest.mark.parametrize("late", ["expired", "evicted", "released"])
    def test_it_is_too_late_once_the_store_has_forgotten_it(
        self, scene: Scene, ann: Process, bob: Process, late: str
    ) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        if late == "expired":
            scene.until(30.0)
        elif late == "evicted":
            scene.server.locks.clear()
        else:
            scene.play(release(ann.world, ann.desk, adopted(ann, baton)))
        loss = scene.play(adopt(bob.world, bob.desk, baton))
        assert isinstance(loss, LeaseLost)
        assert (loss.name, loss.fence, loss.reason) == ("a", baton.fence, FORGOTTEN)
        assert (bob.events, bob.desk.holds, bob.world.asks("leave")) == ([], {}, [])

    def test_nor_is_it_that_of_another_who_has_the_lock_by_now(self, scene: Scene, ann: Process, bob: Process) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        scene.until(30.0)
        other = ann.holds(REQUEST)
        assert isinstance(scene.play(adopt(bob.world, bob.desk, baton)), LeaseLost)
        assert scene.play(prolong(ann.world, ann.desk, other)) is None

    def test_an_answer_heard_too_late_to_be_trusted_is_a_loss_and_the_lock_is_given_back(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        hold = ann.holds(Request("a", 1.0))
        hold.bar_until = EPOCH + 5.0
        baton = handed(ann, hold)
        bob.world.doom("keep", Fate(0.0, 1.5))
        loss = scene.play(adopt(bob.world, bob.desk, baton))
        assert isinstance(loss, LeaseLost)
        assert loss.reason == RAN_OUT
        assert bob.world.asks("leave") == [Leave(baton.owner, EPOCH + 5.0)]

    @pytest.mark.parametrize("fate", [SILENT, UNHEARD])
    def test_who_hears_nothing_may_try_again(self, scene: Scene, ann: Process, bob: Process, fate: Fate) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        bob.world.doom("keep", fate)
        with pytest.raises(StoreUnreachable):
            scene.play(adopt(bob.world, bob.desk, baton))
        assert scene.now == PATIENCE
        assert not bob.world.asks("leave"), "it may still be adopted, here or elsewhere"
        assert adopted(bob, baton).fence == baton.fence

    def test_a_store_that_only_refuses_for_a_while_is_asked_again(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        bob.world.doom("keep", REFUSED, REFUSED)
        assert adopted(bob, baton).fence == baton.fence

    def test_whoever_hands_it_on_may_take_it_back(self, scene: Scene, ann: Process) -> None:
        first = ann.holds(REQUEST)
        hold = adopted(ann, handed(ann, first))
        assert ann.desk.holds == {first.owner: hold}

    def test_one_client_adopts_it_once(self, scene: Scene, ann: Process, bob: Process) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        hold = adopted(bob, baton)
        with pytest.raises(ConfigError, match=r"'a' \(fence \d+\) was adopted by this client already"):
            scene.play(adopt(bob.world, bob.desk, baton))
        assert bob.desk.holds == {baton.owner: hold}

    def test_of_two_who_adopt_it_at_once_one_wins(self, scene: Scene, ann: Process, bob: Process) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        bob.world.doom("keep", Fate(0.0, 1.0), Fate(0.0, 1.0))
        first, second = (scene.spawn(adopt(bob.world, bob.desk, baton)) for _ in range(2))
        hold = scene.finish(first)
        assert isinstance(hold, Hold)
        with pytest.raises(ConfigError, match="already"):
            scene.finish(second)
        assert bob.desk.holds == {baton.owner: hold}
        bob.start_keeper()
        scene.until(60.0)
        assert hold.check(60.0) is Verdict.KEEP
        assert bob.told(Adopted) == [Adopted("a", baton.fence)]

    def test_who_adopts_it_is_told_of_its_loss(self, scene: Scene, ann: Process, bob: Process) -> None:
        told: list[LeaseLost] = []
        baton = handed(ann, ann.holds(REQUEST))
        hold = adopted(bob, baton, watchers=[told.append])
        bob.start_keeper()
        hold.lose(EVICTED)
        bob.desk.nudge()
        scene.until(1.0)
        assert bob.told(Lost) == [Lost("a", baton.fence, EVICTED)]
        assert [loss.reason for loss in told] == [EVICTED]

    def test_one_that_is_dropped_is_given_back(self, scene: Scene, ann: Process, bob: Process) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        bearer: Bearer | None = Bearer()
        adopted(bob, baton, bearer=bearer)
        del bearer
        gc.collect()
        bob.start_keeper()
        scene.until(1.0)
        assert bob.told(Abandoned) == [Abandoned("a", baton.fence)]
        assert scene.server.locks == {}

    def test_a_client_that_is_closed_meanwhile_leaves_it_to_others(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        baton = handed(ann, ann.holds(REQUEST))
        bob.world.doom("keep", Fate(0.0, 1.0))
        task = scene.spawn(adopt(bob.world, bob.desk, baton))
        bob.desk.is_closed = True
        with pytest.raises(ClientClosed, match="adopt a lease"):
            scene.finish(task)
        assert (bob.desk.holds, bob.events, bob.world.asks("leave")) == ({}, [], [])
        assert adopted(ann, baton).fence == baton.fence
