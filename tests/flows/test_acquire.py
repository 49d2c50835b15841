"""From asking to holding, and every way out without the lock."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, pairwise
from math import inf
from typing import Any
from weakref import ref

import pytest

from dibs.errors import ClientClosed, SelfDeadlock, StoreRefused, StoreUnreachable
from dibs.events import Abandoned, Acquired, FoundBusy, JoinedQueue, Lost
from dibs.flows.hold import EVICTED, Hold
from dibs.flows.keeping import settle
from dibs.flows.locking import Denied, release
from dibs.model.asks import Evict, Leave, Push
from dibs.model.request import A_MOMENT, PATIENCE, Request
from dibs.model.tenure import Tenure
from tests.flows.scripted import (
    ANSWERED,
    EPOCH,
    REFUSED,
    SILENT,
    UNHEARD,
    Cancelled,
    Fate,
    Process,
    Scene,
    Task,
)

FOR_EVER = Request("a", 30.0, purpose="report")
AT_ONCE = Request("a", 30.0, wait=0.0)


def owners(scene: Scene, name: str = "a") -> list[str]:
    """Whoever the store knows of one lock: the holder, then the queue."""
    lock = scene.server.locks.get(name)
    if lock is None:
        return []
    lock = lock.at(scene.store_now())
    return ([lock.holder.owner] if lock.holder else []) + [ticket.owner for ticket in lock.queue]


def let_go(scene: Scene, process: Process, hold: Hold) -> None:
    """Release from within the script."""
    scene.spawn(release(process.world, process.desk, hold))


class TestGranted:
    def test_a_free_lock_is_held_at_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(FOR_EVER)
        assert (hold.name, hold.owner, hold.fence, hold.waited) == ("a", "ann-1", int(EPOCH * 1e6), 0.0)
        assert (hold.tenure, hold.bar_until) == (Tenure(30.0, 0.0), None)
        assert ann.events == [Acquired("a", hold.fence, 0.0)]
        assert owners(scene) == ["ann-1"]

    def test_it_stands_on_the_desk_and_leaves_no_inbox_there(self, ann: Process) -> None:
        hold = ann.holds(FOR_EVER)
        desk = ann.desk
        assert desk.holds == {"ann-1": hold}
        assert (desk.inboxes, desk.tickets, desk.debts) == ({}, {}, {})
        assert desk.seen_fence == hold.fence
        assert (desk.wakes_at, ann.nudges) == (10.0, 1)

    def test_an_ask_says_who_asks_and_for_how_long(self, ann: Process) -> None:
        ann.desk.seen_fence = 5
        ann.holds(FOR_EVER)
        [ask] = ann.world.asks("acquire")
        assert (ask.owner, ask.ttl, ask.channel, ask.who, ask.purpose) == ("ann-1", 30.0, "ann", "ann", "report")
        assert (ask.seen, ask.queue, ask.not_after) == (5, True, EPOCH + PATIENCE)

    def test_an_ask_is_good_for_one_ttl_at_the_most(self, ann: Process) -> None:
        ann.holds(Request("a", 0.5))
        assert ann.world.asks("acquire")[0].not_after == EPOCH + 0.5

    def test_the_store_is_asked_the_time_only_while_it_is_not_known(self, ann: Process) -> None:
        ann.holds(FOR_EVER)
        ann.holds(Request("b", 30.0))
        assert [kind for _, kind, _ in ann.world.sent] == ["time", "acquire", "acquire"]

    def test_trust_counts_from_the_ask_and_not_from_the_answer(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", Fate(0.5, 0.5))
        hold = ann.holds(FOR_EVER)
        assert (scene.now, hold.tenure, hold.waited) == (1.0, Tenure(30.0, 0.0), 1.0)

    def test_an_answer_too_late_to_be_trusted_is_asked_for_again(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", Fate(0.0, 0.9))
        hold = ann.holds(Request("a", 1.0))
        assert 0.9 < scene.now == hold.tenure.asked_at < 1.0
        assert hold.fence == int(EPOCH * 1e6), "the same owner keeps its fence"

    @pytest.mark.parametrize("wait", [None, 0.0, 1.0])
    def test_grants_that_always_come_too_late_are_given_up_in_the_end(
        self, scene: Scene, ann: Process, wait: float | None
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", *[Fate(0.045, 0.05)] * 100_000)
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(Request("a", 0.1, wait=wait)))
        assert scene.now <= (wait or PATIENCE) + 0.25


class TestBusy:
    def test_who_does_not_wait_is_told_who_has_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(FOR_EVER)
        outcome = scene.play(bob.acquires(AT_ONCE))
        assert isinstance(outcome, Denied)
        assert (outcome.held.who, outcome.held.purpose, outcome.held.fence) == ("ann", "report", hold.fence)
        assert bob.events == [FoundBusy("a", "ann", 0.0)]

    def test_who_does_not_wait_and_was_answered_owes_nothing(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        scene.play(bob.acquires(AT_ONCE))
        assert bob.world.asks("leave") == []
        assert bob.desk.debts == {}
        assert (bob.desk.inboxes, bob.desk.tickets) == ({}, {})


class TestQueue:
    def test_a_release_hands_the_lock_to_the_one_who_waits(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        scene.at(5.0, lambda: let_go(scene, ann, first))
        second = bob.holds(FOR_EVER)
        assert (scene.now, second.waited) == (5.0, 5.0)
        assert second.fence > first.fence
        assert second.tenure == Tenure(30.0, 0.0), "from the last command that was answered ahead of the push"
        assert bob.events == [JoinedQueue("a", "ann", 0), Acquired("a", second.fence, 5.0)]
        assert len(bob.world.asks("acquire")) == 1
        assert (bob.desk.inboxes, bob.desk.tickets) == ({}, {})

    def test_a_ticket_is_in_the_keepers_care(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        scene.spawn(bob.acquires(FOR_EVER))
        scene.until(1.0)
        [ticket] = bob.desk.tickets.values()
        assert (ticket.name, ticket.owner, ticket.ttl, ticket.keep_at) == ("a", "bob-1", 30.0, 10.0)
        assert (bob.desk.wakes_at, bob.nudges) == (10.0, 1)

    def test_a_hand_over_that_may_be_old_is_confirmed_first(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        scene.at(16.0, lambda: let_go(scene, ann, first))
        second = bob.holds(FOR_EVER)
        assert bob.world.moments("acquire") == [0.0, 16.0]
        assert second.tenure == Tenure(30.0, 16.0)
        assert second.fence == scene.server.last_fence

    def test_a_hand_over_on_a_line_that_has_asked_nothing_counts_from_the_ask_that_was_queued(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(FOR_EVER)
        scene.until(20.0)
        above = Push("bob", "bob-1", first.fence + 1, "handed")
        scene.at(21.0, lambda: bob.desk.deliver(above, asked_at=-inf))
        second = bob.holds(FOR_EVER)
        assert (second.fence, second.tenure) == (above.fence, Tenure(30.0, 20.0))
        assert bob.world.moments("acquire") == [20.0]

    def test_one_that_is_older_than_the_holder_we_wait_for_is_not_believed(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(FOR_EVER)
        scene.until(20.0)
        late = Push("bob", "bob-1", first.fence - 1, "handed")
        scene.at(21.0, lambda: bob.desk.deliver(late, asked_at=-inf))
        scene.at(22.0, lambda: let_go(scene, ann, first))
        second = bob.holds(FOR_EVER)
        assert second.fence > first.fence
        assert bob.world.moments("acquire") == [20.0, 21.0], "it asks whether it is true, and waits on"

    def test_what_is_handed_to_one_who_shares_may_be_old_whatever_its_fence(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        """It may have been granted before we asked again, beside the holder that we wait for, and have run out."""
        permit = replace(FOR_EVER, room=2, is_counted=True)
        first = ann.holds(replace(permit, room=1))
        scene.until(20.0)
        above = Push("bob", "bob-1", first.fence + 1, "handed")
        scene.at(21.0, lambda: bob.desk.deliver(above, asked_at=-inf))
        scene.at(22.0, lambda: let_go(scene, ann, first))
        second = bob.holds(permit)
        assert second.fence > above.fence
        assert bob.world.moments("acquire") == [20.0, 21.0], "it asks whether it is true, and waits on"

    def test_a_ticket_that_was_kept_alive_makes_the_hand_over_fresh(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(FOR_EVER)
        scene.at(16.0, lambda: let_go(scene, ann, first))
        bob.start_keeper()
        second = bob.holds(FOR_EVER)
        assert (scene.now, second.tenure) == (16.0, Tenure(30.0, 10.0))
        assert len(bob.world.asks("acquire")) == 1

    def test_a_push_that_was_long_on_its_way_is_not_trusted(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        bob.push_delay = 20.0
        scene.at(1.0, lambda: let_go(scene, ann, first))
        second = bob.holds(FOR_EVER)
        assert second.tenure == Tenure(30.0, 21.0)
        assert bob.world.moments("acquire") == [0.0, 21.0]

    def test_a_loss_heard_before_its_grant_voids_the_grant(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)

        def evict() -> None:
            bob.push_delay = 0.0
            scene.execute(("ask", "a", Evict(scene.server.last_fence)))

        bob.push_delay = 3.0
        scene.at(1.0, lambda: let_go(scene, ann, first))
        scene.at(2.0, evict)
        task = scene.spawn(bob.acquires(FOR_EVER))
        scene.until(3.9)
        handed = scene.server.last_fence - 1
        assert not task.is_done
        second = scene.finish(task)
        assert isinstance(second, Hold)
        assert (scene.now, bob.world.moments("acquire")) == (4.0, [0.0, 4.0])
        assert second.fence > handed
        assert bob.told(Lost) == []

    def test_a_loss_of_another_grant_voids_nothing(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        scene.at(1.0, lambda: bob.desk.deliver(Push("bob", "bob-1", first.fence, "evicted"), 0.0))
        scene.at(2.0, lambda: let_go(scene, ann, first))
        assert bob.holds(FOR_EVER).tenure == Tenure(30.0, 0.0)
        assert len(bob.world.asks("acquire")) == 1

    def test_who_was_evicted_while_it_entered_knows_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        scene.at(1.0, lambda: _handed_and_evicted_at_once(scene, first))
        second = bob.holds(FOR_EVER)
        assert second.lost_because == EVICTED

    def test_who_was_evicted_while_it_entered_is_told_at_once(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        bob.start_keeper()
        bob.holds(Request("b", 24.0))  # which the keeper wakes for at 8 s: sooner than for the one to come
        scene.at(1.0, lambda: _handed_and_evicted_at_once(scene, first))
        bob.holds(FOR_EVER)
        scene.until(1.0)
        assert [lost.reason for lost in bob.told(Lost)] == [EVICTED]

    def test_a_waiter_asks_again_when_the_holder_would_have_run_out(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(FOR_EVER)
        second = bob.holds(Request("a", 40.0))
        assert (scene.now, bob.world.moments("acquire")) == (30.0, [0.0, 30.0])
        assert second.tenure == Tenure(40.0, 30.0)

    def test_a_ticket_kept_alive_moves_the_moment_to_ask_again(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        ann.start_keeper()
        bob.start_keeper()
        task = scene.spawn(bob.acquires(FOR_EVER))
        scene.until(200.0)
        assert not task.is_done
        assert bob.world.moments("acquire") == [0.0]
        assert owners(scene) == ["ann-1", "bob-1"]
        assert bob.told(JoinedQueue) == [JoinedQueue("a", "ann", 0)]

    def test_who_asks_again_and_still_waits_is_not_queued_anew(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        task = scene.spawn(bob.acquires(FOR_EVER))
        scene.at(3.0, bob.desk.ask_again)
        scene.until(5.0)
        assert not task.is_done
        assert bob.world.moments("acquire") == [0.0, 3.0]
        assert {ask.owner for ask in bob.world.asks("acquire")} == {"bob-1"}
        assert len(bob.told(JoinedQueue)) == 1
        assert bob.desk.tickets["bob-1"].kept_at == 3.0

    def test_a_broken_connection_makes_whoever_waits_ask_again(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        bob.hears_pushes = False
        scene.at(2.0, lambda: let_go(scene, ann, first))
        scene.at(3.0, bob.desk.ask_again)
        second = bob.holds(FOR_EVER)
        assert (scene.now, second.tenure) == (3.0, Tenure(30.0, 3.0))

    def test_a_push_that_was_missed_is_made_up_for_by_the_keeper(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(FOR_EVER)
        bob.hears_pushes = False
        bob.start_keeper()
        scene.at(2.0, lambda: let_go(scene, ann, first))
        second = bob.holds(FOR_EVER)
        assert (scene.now, second.tenure) == (10.0, Tenure(30.0, 10.0))
        assert len(bob.world.asks("acquire")) == 1

    def test_a_store_that_forgot_the_ticket_is_asked_anew(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        bob.start_keeper()
        scene.at(2.0, scene.server.locks.clear)
        second = bob.holds(FOR_EVER)
        assert (scene.now, bob.world.moments("acquire")) == (10.0, [0.0, 10.0])
        assert second.tenure == Tenure(30.0, 10.0)


def _handed_and_evicted_at_once(scene: Scene, hold: Hold) -> None:
    scene.execute(("ask", "a", Leave(hold.owner)))
    scene.execute(("ask", "a", Evict(scene.server.last_fence)))


class TestGivingUp:
    def test_the_end_of_the_wait_is_the_end_of_waiting(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        outcome = scene.play(bob.acquires(Request("a", 30.0, wait=5.0)))
        assert isinstance(outcome, Denied)
        assert (scene.now, outcome.held.who, outcome.waiters) == (5.0, "ann", 1)
        assert bob.told(FoundBusy) == [FoundBusy("a", "ann", 5.0)]

    def test_who_gives_up_leaves_the_queue(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        scene.play(bob.acquires(Request("a", 30.0, wait=5.0)))
        assert bob.world.asks("leave") == [Leave("bob-1", None)]
        assert owners(scene) == ["ann-1"]
        assert (bob.desk.debts, bob.desk.tickets, bob.desk.inboxes) == ({}, {}, {})

    def test_waiting_goes_on_after_asking_again(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        ann.start_keeper()
        outcome = scene.play(bob.acquires(Request("a", 50.0, wait=45.0)))
        assert isinstance(outcome, Denied)
        assert scene.now == 45.0
        assert bob.world.moments("acquire") == [0.0, 30.0]

    def test_a_lock_handed_over_at_the_last_moment_is_given_back(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(FOR_EVER)
        bob.push_delay = 2.0
        scene.at(4.0, lambda: let_go(scene, ann, first))
        outcome = scene.play(bob.acquires(Request("a", 30.0, wait=5.0)))
        assert isinstance(outcome, Denied)
        scene.until(10.0)
        assert owners(scene) == []
        assert bob.desk.holds == {}


class TestSilence:
    @pytest.mark.parametrize("wait", [None, 0.0])
    def test_without_a_wait_of_its_own_silence_is_told_after_two_seconds(
        self, scene: Scene, ann: Process, wait: float | None
    ) -> None:
        ann.world.know_the_time()
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable) as raised:
            scene.play(ann.acquires(Request("a", 30.0, wait=wait)))
        assert scene.now == PATIENCE
        assert raised.value.server == "memory://scene"

    def test_a_refusal_that_lasts_is_told_with_all_the_time_it_took(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", *[REFUSED] * 100)
        with pytest.raises(StoreRefused, match=r"after 2s \(it is loading\)") as raised:
            scene.play(ann.acquires(FOR_EVER))
        assert raised.value.after == scene.now == PATIENCE

    def test_the_time_that_we_were_stopped_ourselves_is_not_the_store_s_silence(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", SILENT, ANSWERED)
        task = scene.spawn(ann.acquires(FOR_EVER))
        ann.hang()
        scene.until(10.0)
        ann.wake()
        assert isinstance(scene.finish(task), Hold)

    @pytest.mark.parametrize("wait", [0.01, 0.5, 1.0, 2.0, 5.0, 60.0])
    def test_a_finite_wait_bears_silence_as_long_as_it_lasts(self, scene: Scene, ann: Process, wait: float) -> None:
        ann.world.know_the_time()
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(Request("a", 30.0, wait=wait)))
        assert wait <= scene.now <= wait + A_MOMENT + 1e-9

    def test_a_store_whose_time_is_not_known_is_as_silent(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(FOR_EVER))
        assert scene.now == PATIENCE

    def test_who_never_asked_owes_nothing(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(FOR_EVER))
        assert ann.desk.debts == {}
        assert {kind for _, kind, _ in ann.world.sent} == {"time"}

    @pytest.mark.parametrize("wait", [0.0, 1.0])
    def test_a_store_that_falls_silent_after_telling_the_time_does_not_double_the_wait(
        self, scene: Scene, ann: Process, wait: float
    ) -> None:
        patience = wait or PATIENCE
        ann.world.doom("time", Fate(0.0, patience * 0.9))
        ann.world.doom("acquire", *[SILENT] * 100)
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(Request("a", 30.0, wait=wait)))
        assert scene.now <= patience + 0.25

    def test_each_try_is_a_new_ask_by_the_same_owner_after_a_growing_pause(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(Request("a", 30.0, wait=20.0)))
        assert {ask.owner for ask in ann.world.asks("acquire")} == {"ann-1"}
        assert all(later - sooner > PATIENCE for sooner, later in pairwise(ann.world.moments("acquire")[:-1]))
        pauses = ann.world.asks("pause")
        assert pauses[:5] == sorted(pauses[:5])
        assert 0.025 <= pauses[0] < 0.05

    def test_silence_that_ends_in_time_does_no_harm(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", SILENT, ANSWERED)
        hold = ann.holds(Request("a", 30.0, wait=5.0))
        assert hold.tenure.asked_at == scene.now == ann.world.moments("acquire")[1]

    def test_an_answer_that_was_lost_is_given_again(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", UNHEARD, ANSWERED)
        hold = ann.holds(Request("a", 30.0, wait=5.0))
        assert hold.fence == int(EPOCH * 1e6)
        assert hold.tenure.asked_at > PATIENCE

    def test_who_holds_after_an_unanswered_ask_bars_it_when_it_leaves(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", SILENT, ANSWERED)
        hold = ann.holds(Request("a", 30.0, wait=5.0))
        assert hold.bar_until == EPOCH + PATIENCE
        scene.play(release(ann.world, ann.desk, hold))
        assert ann.world.asks("leave") == [Leave("ann-1", EPOCH + PATIENCE, channel="ann")]

    def test_who_goes_away_from_a_silent_store_owes_a_leave_that_bars_its_asks(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.world.know_the_time()
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(AT_ONCE))
        [debt] = ann.desk.debts.values()
        assert (debt.name, debt.leave, debt.due_at) == ("a", Leave("ann-1", EPOCH + PATIENCE), PATIENCE + 0.25)
        assert ann.desk.wakes_at == debt.due_at

    def test_of_several_unanswered_asks_the_last_to_land_is_barred(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(ann.acquires(Request("a", 30.0, wait=5.0)))
        latest = max(ask.not_after for ask in ann.world.asks("acquire"))
        assert latest > EPOCH + PATIENCE
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", latest)

    def test_an_ask_that_lands_after_its_owner_went_away_is_refused(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", Fate(1.9, None))
        task = scene.spawn(ann.acquires(FOR_EVER))
        scene.until(1.0)
        task.cancel()
        scene.until(3.0)
        assert owners(scene) == []

    @pytest.mark.parametrize(("wait", "end"), [(None, PATIENCE), (0.0, PATIENCE), (1.0, 1.0)])
    def test_asks_that_are_always_refused_are_told_as_such(
        self, scene: Scene, ann: Process, wait: float | None, end: float
    ) -> None:
        ann.world.know_the_time()
        ann.world.skew = -100.0
        with pytest.raises(StoreUnreachable, match="too far away for this TTL") as raised:
            scene.play(ann.acquires(Request("a", 30.0, wait=wait)))
        assert raised.value.after == scene.now == pytest.approx(end, abs=1e-9)
        assert owners(scene) == []
        assert ann.desk.debts == {}

    def test_an_ask_that_was_refused_once_is_asked_again(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.skew = -100.0
        scene.at(0.01, lambda: setattr(ann.world, "skew", 0.0))
        hold = ann.holds(AT_ONCE)
        assert len(ann.world.asks("acquire")) == 2
        assert hold.bar_until is not None, "the ask that was refused may come again"

    def test_a_store_that_falls_silent_in_the_queue_is_told_two_seconds_later(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(FOR_EVER)
        task = scene.spawn(bob.acquires(FOR_EVER))
        scene.until(1.0)
        bob.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.finish(task)
        assert scene.now == 32.0
        assert bob.desk.debts["bob-1"].leave == Leave("bob-1", EPOCH + 32.0)


class TestRefusal:
    """The store says that it did not do it: that is an answer, though not one to be content with."""

    def test_a_store_that_refuses_at_first_is_asked_again(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", REFUSED, REFUSED)
        hold = ann.holds(AT_ONCE)
        assert len(ann.world.asks("acquire")) == 3
        assert hold.tenure.asked_at == scene.now == ann.world.moments("acquire")[2]
        assert ann.world.moments("acquire") == [0.0, *accumulate(ann.world.asks("pause"))]

    def test_what_was_refused_cannot_land_later_so_it_need_not_be_barred(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", REFUSED)
        hold = ann.holds(FOR_EVER)
        assert hold.bar_until is None
        scene.play(release(ann.world, ann.desk, hold))
        assert ann.world.asks("leave") == [Leave("ann-1", None, channel="ann")]

    def test_what_was_silence_before_the_refusal_is_still_barred(self, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", SILENT, REFUSED)
        hold = ann.holds(Request("a", 30.0, wait=5.0))
        assert len(ann.world.asks("acquire")) == 3
        assert hold.bar_until == EPOCH + PATIENCE

    @pytest.mark.parametrize(("wait", "end"), [(None, PATIENCE), (0.0, PATIENCE), (1.0, 1.0)])
    def test_a_store_that_always_refuses_is_told_when_patience_ends(
        self, scene: Scene, ann: Process, wait: float | None, end: float
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", *[REFUSED] * 100)
        with pytest.raises(StoreRefused, match="it is loading"):
            scene.play(ann.acquires(Request("a", 30.0, wait=wait)))
        assert scene.now == pytest.approx(end, abs=1e-9)

    def test_who_does_not_wait_and_was_only_refused_owes_nothing(self, scene: Scene, ann: Process) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", *[REFUSED] * 100)
        with pytest.raises(StoreRefused):
            scene.play(ann.acquires(AT_ONCE))
        assert (ann.desk.debts, ann.world.asks("leave")) == ({}, [])

    def test_a_store_that_refuses_to_tell_the_time_is_asked_again(self, ann: Process) -> None:
        ann.world.doom("time", REFUSED)
        assert ann.holds(AT_ONCE).bar_until is None
        assert [kind for _, kind, _ in ann.world.sent] == ["time", "pause", "time", "acquire"]


class TestSelfDeadlock:
    def test_who_waits_for_what_it_is_inside_of_is_told_at_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(FOR_EVER)
        scene.until(5.0)
        with pytest.raises(SelfDeadlock, match="is already held here, by the same task or thread") as raised:
            scene.play(ann.acquires(Request("a", 30.0, wait=60.0), inside=[hold]))
        assert scene.now == 5.0
        assert (raised.value.name, raised.value.fence) == ("a", hold.fence)
        assert len(ann.world.asks("acquire")) == 1
        assert (ann.desk.inboxes, ann.desk.debts) == ({}, {})

    def test_who_does_not_wait_finds_it_busy(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(FOR_EVER)
        assert isinstance(scene.play(ann.acquires(AT_ONCE, inside=[hold])), Denied)

    def test_who_is_not_inside_may_wait(self, scene: Scene, ann: Process) -> None:
        first = ann.holds(FOR_EVER)
        scene.at(1.0, lambda: let_go(scene, ann, first))
        assert ann.holds(FOR_EVER).waited == 1.0

    def test_a_lease_that_was_lost_does_not_count(self, scene: Scene, ann: Process) -> None:
        lost = ann.holds(FOR_EVER)
        scene.until(27.0)
        assert ann.holds(FOR_EVER, inside=[lost]).waited == 3.0

    def test_a_lease_that_was_released_does_not_count(self, scene: Scene, ann: Process) -> None:
        released = ann.holds(FOR_EVER)
        scene.play(release(ann.world, ann.desk, released))
        assert ann.holds(FOR_EVER, inside=[released]).waited == 0.0


class Bearer:
    """What the user has in hand."""


class TestBearer:
    def test_a_lease_lasts_while_its_bearer_does(self, scene: Scene, ann: Process) -> None:
        bearer = Bearer()
        hold = ann.holds(FOR_EVER, bearer=bearer)
        ann.start_keeper()
        gc.collect()
        scene.until(100.0)
        assert hold.bearer is not None
        assert hold.bearer() is bearer
        assert (ann.desk.holds, ann.told(Abandoned)) == ({"ann-1": hold}, [])

    def test_a_lease_whose_bearer_is_garbage_is_given_back(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(FOR_EVER, bearer=Bearer())
        gc.collect()
        assert ann.desk.abandoned == [hold]
        assert (ann.world.asks("leave"), ann.told(Abandoned)) == ([], []), "a garbage collector talks to nobody"
        ann.start_keeper()
        assert ann.told(Abandoned) == [Abandoned("a", hold.fence)]
        assert (ann.desk.holds, ann.desk.abandoned, hold.is_over) == ({}, [], True)
        assert bob.holds(AT_ONCE).waited == 0.0

    def test_the_bearer_is_kept_while_its_lock_is_waited_for(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(FOR_EVER)
        bearer = Bearer()
        seen, task = ref(bearer), scene.spawn(bob.acquires(FOR_EVER, bearer=bearer))
        del bearer
        scene.until(1.0)
        gc.collect()
        assert seen() is not None
        let_go(scene, ann, first)
        scene.finish(task)
        gc.collect()
        assert seen() is None
        assert [hold.owner for hold in bob.desk.abandoned] == ["bob-1"]

    def test_a_bearer_that_outlives_its_lease_is_not_missed_later(self, scene: Scene, ann: Process) -> None:
        bearer = Bearer()
        hold = ann.holds(FOR_EVER, bearer=bearer)
        scene.play(release(ann.world, ann.desk, hold))
        del bearer
        gc.collect()
        assert ann.desk.abandoned == []

    def test_a_lease_that_nobody_bears_is_not_missed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(FOR_EVER)
        assert hold.bearer is None
        gc.collect()
        assert ann.desk.holds == {"ann-1": hold}


class TestClosing:
    def test_who_asks_a_closed_client_is_told_before_the_store_is(self, scene: Scene, ann: Process) -> None:
        ann.desk.is_closed = True
        with pytest.raises(ClientClosed, match="cannot wait for a lock"):
            scene.play(ann.acquires(FOR_EVER))
        assert (ann.world.sent, ann.desk.debts, ann.desk.inboxes) == ([], {}, {})

    def test_who_waits_is_told_when_it_is_woken(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(FOR_EVER)
        task = scene.spawn(bob.acquires(FOR_EVER))
        scene.until(3.0)
        bob.desk.is_closed = True
        bob.desk.ask_again()
        with pytest.raises(ClientClosed):
            scene.finish(task)
        assert (scene.now, bob.world.moments("acquire")) == (3.0, [0.0])
        assert (bob.world.asks("leave"), owners(scene)) == ([Leave("bob-1", None)], ["ann-1"])
        assert (bob.desk.tickets, bob.desk.inboxes) == ({}, {})

    def test_who_is_handed_the_lock_as_its_client_closes_does_not_get_it_and_gives_it_back(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(FOR_EVER)
        task = scene.spawn(bob.acquires(FOR_EVER))
        scene.until(3.0)
        bob.desk.is_closed = True
        let_go(scene, ann, first)
        with pytest.raises(ClientClosed, match="cannot take a lock"):
            scene.finish(task)
        assert (bob.desk.holds, bob.desk.tickets, bob.desk.inboxes) == ({}, {}, {})
        assert (bob.world.asks("leave"), owners(scene)) == ([Leave("bob-1", None)], [])
        assert bob.told(Acquired) == []

    def test_who_is_granted_the_lock_as_its_client_closes_owes_the_leave_if_the_store_falls_silent(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", Fate(0.5, 0.5))
        ann.world.doom("leave", SILENT)
        task = scene.spawn(ann.acquires(FOR_EVER))
        scene.until(0.7)
        ann.desk.is_closed = True
        with pytest.raises(ClientClosed):
            scene.finish(task)
        assert (ann.desk.holds, ann.desk.debts["ann-1"].leave) == ({}, Leave("ann-1", None))
        scene.play(settle(ann.world, ann.desk))
        assert owners(scene) == []

    def test_who_does_not_wait_and_is_granted_the_lock_as_its_client_closes_gives_it_back(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.world.know_the_time()
        ann.world.doom("acquire", Fate(0.5, 0.5))
        task = scene.spawn(ann.acquires(AT_ONCE))
        scene.until(0.7)
        ann.desk.is_closed = True
        with pytest.raises(ClientClosed):
            scene.finish(task)
        scene.play(settle(ann.world, ann.desk))
        assert owners(scene) == []

    def test_who_bears_silence_is_told_at_its_next_try_and_its_asks_are_barred(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.world.know_the_time()
        ann.world.is_silent = True
        task = scene.spawn(ann.acquires(Request("a", 30.0, wait=60.0)))
        scene.until(1.0)
        ann.desk.is_closed = True
        with pytest.raises(ClientClosed):
            scene.finish(task)
        assert len(ann.world.asks("acquire")) == 1
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", EPOCH + PATIENCE)


def _slowly(process: Process) -> None:
    """Every command takes a while both ways, and the first acquire is lost."""
    process.world.doom("time", Fate(0.1, 0.1))
    process.world.doom("acquire", SILENT, *[Fate(0.1, 0.1)] * 20)
    process.world.doom("leave", *[Fate(0.1, 0.1)] * 20)


def _unheard(process: Process) -> None:
    """Every command lands, and the answers to the first ones are lost."""
    process.world.know_the_time()
    process.world.doom("acquire", UNHEARD, UNHEARD, Fate(0.1, 0.1))
    process.world.doom("leave", UNHEARD, UNHEARD)


@pytest.mark.parametrize("end", [Task.cancel, Task.drop])
@pytest.mark.parametrize(
    ("weather", "wait", "awaits"),
    [(_slowly, 20.0, 5), (_unheard, 20.0, 6), (_slowly, 0.0, 2), (_unheard, 0.0, 1)],
)
def test_who_is_cancelled_or_thrown_away_leaves_nothing_behind_at_whichever_await(
    weather: Callable[[Process], None], wait: float, awaits: int, end: Callable[[Task[Any]], None]
) -> None:
    assert _ended(weather, wait, end, at=100).awaits == awaits + 1, "so many awaits, then it was done"
    for number in range(1, awaits + 1):
        assert isinstance(_ended(weather, wait, end, at=number).error, Cancelled | GeneratorExit)


def _ended(
    weather: Callable[[Process], None], wait: float, end: Callable[[Task[Any]], None], *, at: int
) -> Task[Hold | Denied]:
    scene = Scene()
    ann, bob = scene.process("ann"), scene.process("bob")
    first = ann.holds(FOR_EVER)
    scene.at(7.0, lambda: let_go(scene, ann, first))
    weather(bob)
    bob.start_keeper()
    task = scene.spawn(bob.acquires(Request("a", 30.0, wait=wait)))
    while not task.is_done and task.awaits < at:
        scene.happen()
    end(task)
    for hold in list(bob.desk.holds.values()):
        let_go(scene, bob, hold)
    scene.until(20.0)
    assert owners(scene) == []
    desk = bob.desk
    assert (desk.holds, desk.tickets, desk.inboxes, desk.debts) == ({}, {}, {}, {})
    scene.close()
    return task


def test_who_is_cancelled_before_it_asked_owes_nothing(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", SILENT)
    task = scene.spawn(ann.acquires(FOR_EVER))
    scene.until(1.0)
    task.cancel()
    with pytest.raises(Cancelled):
        task.outcome()
    assert ann.desk.debts == {}
    assert ann.world.asks("leave") == []


def test_who_is_cancelled_in_the_queue_leaves_it_at_once(scene: Scene, ann: Process, bob: Process) -> None:
    ann.holds(FOR_EVER)
    task = scene.spawn(bob.acquires(FOR_EVER))
    scene.until(1.0)
    task.cancel()
    assert bob.world.asks("leave") == [Leave("bob-1", None)]
    assert owners(scene) == ["ann-1"]
    assert bob.told(FoundBusy) == []


@pytest.mark.parametrize(("asked", "bar"), [(1.0, None), (31.0, EPOCH + 32.0)])
def test_who_is_thrown_away_talks_to_nobody_and_leaves_it_to_the_keeper(
    scene: Scene, ann: Process, bob: Process, asked: float, bar: float | None
) -> None:
    """By the garbage collector, perhaps; in the queue, or while an ask was out."""
    ann.holds(FOR_EVER)
    task = scene.spawn(bob.acquires(FOR_EVER))
    scene.until(1.0)
    bob.world.doom("acquire", SILENT)
    scene.until(asked)
    task.drop()
    assert bob.world.asks("leave") == []
    [debt] = bob.desk.debts.values()
    assert (debt.name, debt.leave, debt.due_at) == ("a", Leave("bob-1", bar), asked)
    assert (bob.desk.tickets, bob.desk.inboxes) == ({}, {})
    bob.start_keeper()
    assert bob.world.asks("leave") == [Leave("bob-1", bar)]
    assert "bob-1" not in owners(scene)


def test_who_is_thrown_away_before_it_asked_owes_nothing(scene: Scene, ann: Process) -> None:
    ann.world.doom("time", SILENT)
    task = scene.spawn(ann.acquires(FOR_EVER))
    scene.until(1.0)
    task.drop()
    assert (ann.desk.debts, ann.desk.inboxes) == ({}, {})
