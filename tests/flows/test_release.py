"""Giving a lock back, and asking for more time."""

from __future__ import annotations

import pytest

from dibs.errors import LeaseLost, StoreRefused, StoreUnreachable
from dibs.events import Acquired, Lost, Released
from dibs.flows.desk import note_debt
from dibs.flows.hold import FORGOTTEN, RAN_OUT, REACHED_MAX_HOLD, Hold
from dibs.flows.keeping import settle
from dibs.flows.locking import give_back, prolong, reenter, release
from dibs.model.asks import Leave, Memo, Renew
from dibs.model.request import PATIENCE, Request
from dibs.model.tenure import Tenure, Verdict
from tests.flows.scripted import ANSWERED, EPOCH, REFUSED, SILENT, UNHEARD, Cancelled, Fate, Process, Scene

REQUEST = Request("a", 30.0)
ENDED = "the program ended"


class TestRelease:
    def test_a_lock_that_was_given_back_is_free(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.until(5.0)
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        assert scene.server.locks == {}
        assert ann.events[1:] == [Released("a", hold.fence, 5.0)]
        assert (ann.desk.holds, ann.desk.debts) == ({}, {})

    def test_belief_ends_before_the_store_is_asked(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", Fate(1.0, 0.5))
        task = scene.spawn(release(ann.world, ann.desk, hold))
        assert (hold.is_over, ann.desk.holds) == (True, {})
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

    @pytest.mark.parametrize("fate", [ANSWERED, Fate(1.0), SILENT, REFUSED])
    def test_a_lease_lost_before_its_release_is_told_at_once_whatever_the_store_does(
        self, scene: Scene, ann: Process, fate: Fate
    ) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(REQUEST, watchers=[told.append])
        scene.until(27.0)
        ann.world.doom("leave", fate)
        loss = scene.play(release(ann.world, ann.desk, hold))
        assert scene.now == 27.0
        assert loss is not None
        assert loss.reason == RAN_OUT
        assert [loss.reason for loss in told] == [RAN_OUT]
        assert (ann.desk.holds, hold.is_over) == ({}, True)
        ann.start_keeper()
        scene.until(28.5)
        assert (scene.server.locks, ann.desk.debts) == ({}, {}), "the leave is owed"
        assert ann.events[1:] == [Lost("a", hold.fence, RAN_OUT)], "neither released nor lost twice"

    def test_the_leave_of_a_lost_lease_bars_what_is_unanswered(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold.bar_until = EPOCH + 100.0
        hold.lose(FORGOTTEN)
        scene.play(release(ann.world, ann.desk, hold))
        assert ann.world.asks("leave") == [Leave("ann-1", EPOCH + 100.0)]

    def test_a_loss_that_was_told_already_is_given_but_not_told_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.is_silent = True
        scene.until(27.0)
        loss = scene.play(release(ann.world, ann.desk, hold))
        assert loss is not None
        assert loss.reason == RAN_OUT
        assert ann.told(Lost) == [Lost("a", hold.fence, RAN_OUT)]

    def test_a_store_that_refuses_at_first_is_asked_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", REFUSED, REFUSED)
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        assert len(ann.world.asks("leave")) == 3
        assert ann.told(Released) == [Released("a", hold.fence, scene.now)]
        assert (scene.server.locks, ann.desk.debts) == ({}, {})

    def test_a_store_that_always_refuses_is_told_and_the_leave_is_owed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", *[REFUSED] * 20)
        with pytest.raises(StoreRefused):
            scene.play(release(ann.world, ann.desk, hold))
        assert PATIENCE / 2 < scene.now < PATIENCE
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", None, channel="ann")

    def test_a_silent_store_is_told_and_the_leave_is_owed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(release(ann.world, ann.desk, hold))
        assert scene.now == PATIENCE
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", None, channel="ann")
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

    def test_what_happens_with_every_lock_is_not_told_where_nobody_listens(self, scene: Scene, ann: Process) -> None:
        ann.desk.is_heard = False
        hold = ann.holds(REQUEST)
        scene.play(release(ann.world, ann.desk, hold))
        assert "a" not in scene.server.locks
        assert ann.events == []

    def test_a_release_that_is_thrown_away_talks_to_nobody_and_is_owed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", SILENT)
        task = scene.spawn(release(ann.world, ann.desk, hold))
        scene.until(0.5)
        task.drop()
        assert len(ann.world.asks("leave")) == 1
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", None, channel="ann")
        ann.start_keeper()
        assert (scene.server.locks, ann.desk.debts) == ({}, {})


STAYS = Request("a", 30.0, at_least=10.0)


def expires_at(scene: Scene) -> float:
    """When the lock is free if nobody says anything more, by the scene's clock."""
    [holder] = scene.server.locks["a"].holders
    return holder.expires_at - EPOCH


class TestAtLeast:
    def test_it_says_how_long_the_lock_stays_taken_from_when_it_was_granted(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        assert [hold.stays_for(now) for now in (0.0, 4.0, 10.0, 11.0)] == [10.0, 6.0, 0.0, 0.0]
        assert ann.holds(Request("b", 30.0)).stays_for(0.0) == 0.0

    def test_a_renewal_does_not_make_it_longer(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        scene.until(5.0)
        scene.play(prolong(ann.world, ann.desk, hold))
        assert hold.stays_for(5.0) == 5.0

    def test_a_lock_released_sooner_is_left_to_the_store_for_the_rest(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        scene.until(4.0)
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        assert expires_at(scene) == 10.0, "should we die, nobody waits for longer"
        assert ann.world.asks("leave") == []
        assert (hold.is_over, ann.desk.holds) == (True, {})
        assert ann.told(Released) == [Released("a", hold.fence, 4.0)]

    def test_a_lock_released_later_is_free_at_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        scene.until(10.0)
        scene.play(release(ann.world, ann.desk, hold))
        assert (scene.server.locks, ann.desk.debts) == ({}, {})

    def test_whoever_waits_is_handed_it_when_the_time_is_over(self, scene: Scene, ann: Process, bob: Process) -> None:
        hold = ann.holds(STAYS)
        waiter = scene.spawn(bob.acquires(Request("a", 30.0)))
        ann.start_keeper()
        scene.until(4.0)
        scene.play(release(ann.world, ann.desk, hold))
        taken = scene.finish(waiter)
        assert isinstance(taken, Hold)
        assert (scene.now, taken.waited) == (10.0, 10.0)
        assert ann.desk.debts == {}

    def test_more_than_the_ttl_is_kept_too(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 5.0, at_least=60.0))
        scene.play(release(ann.world, ann.desk, hold))
        ann.start_keeper()
        scene.until(59.0)
        assert expires_at(scene) == 60.0
        scene.until(61.0)
        assert (scene.server.locks, ann.desk.debts) == ({}, {})

    def test_what_one_has_entered_several_times_stays_from_the_last_entry_left(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(Request("a", 30.0, at_least=10.0, is_counted=True))
        entry = scene.play(reenter(ann.world, ann.desk, hold))
        scene.play(release(ann.world, ann.desk, hold, entry=entry))
        assert ann.desk.debts == {}
        scene.play(release(ann.world, ann.desk, hold))
        [holder] = scene.server.locks["a"].holders
        assert (holder.depth, holder.expires_at) == (1, EPOCH + 10.0)

    def test_the_leave_is_not_said_before_its_time_not_even_as_a_last_word(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        scene.play(release(ann.world, ann.desk, hold))
        [debt] = ann.desk.debts.values()
        assert (debt.earliest, debt.due_at, debt.leave) == (10.0, 10.0, Leave("ann-1"))
        scene.play(settle(ann.world, ann.desk))
        assert ann.world.asks("leave") == []
        assert expires_at(scene) == 10.0

    def test_a_last_word_is_said_of_all_that_is_due(self, scene: Scene, ann: Process) -> None:
        hold, other = ann.holds(STAYS), ann.holds(Request("b", 30.0))
        scene.play(release(ann.world, ann.desk, hold))
        note_debt(ann.world, ann.desk, "b", Leave(other.owner), ttl=30.0)
        scene.play(settle(ann.world, ann.desk))
        assert list(scene.server.locks) == ["a"]
        assert [debt.name for debt in ann.desk.debts.values()] == ["a"]

    def test_a_lock_the_store_has_forgotten_is_told_as_a_loss(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        scene.server.locks.clear()
        loss = scene.play(release(ann.world, ann.desk, hold))
        assert loss is not None
        assert (loss.reason, ann.desk.debts) == (FORGOTTEN, {})

    def test_what_the_store_may_still_have_of_a_lost_lease_is_left_when_its_time_is_over(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(STAYS)
        hold.lose(RAN_OUT)
        assert scene.play(release(ann.world, ann.desk, hold)) is not None
        ann.start_keeper()
        scene.until(9.9)
        assert ann.world.asks("leave") == []
        scene.until(10.5)
        assert (scene.server.locks, ann.desk.debts) == ({}, {})

    @pytest.mark.parametrize("is_dropped", [False, True])
    def test_a_release_that_is_interrupted_is_owed_when_its_time_is_over(
        self, scene: Scene, ann: Process, is_dropped: bool
    ) -> None:
        hold = ann.holds(STAYS)
        ann.world.doom("keep", SILENT)
        task = scene.spawn(release(ann.world, ann.desk, hold))
        scene.until(0.5)
        if is_dropped:
            task.drop()
        else:
            task.cancel()
        assert ann.world.asks("leave") == []
        ann.start_keeper()
        scene.until(9.9)
        assert scene.server.locks["a"].holder is not None
        scene.until(10.5)
        assert (scene.server.locks, ann.desk.debts) == ({}, {})

    def test_what_is_given_back_at_the_end_of_a_program_stays_too(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(STAYS)
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert expires_at(scene) == 10.0
        assert ann.told(Released) == [Released("a", hold.fence, 0.0)]

    def test_what_was_dropped_stays_too(self, scene: Scene, ann: Process) -> None:
        bearer = Bearer()
        ann.holds(STAYS, bearer=bearer)
        ann.start_keeper()
        del bearer
        scene.until(9.0)
        assert scene.server.locks["a"].holder is not None
        scene.until(10.5)
        assert scene.server.locks == {}


class Bearer:
    """What the user has in hand."""


class TestMemos:
    def test_what_was_done_is_left_behind_in_the_same_step(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold.memo = Memo("done", EPOCH + 60.0)
        scene.play(release(ann.world, ann.desk, hold))
        assert ann.world.asks("leave") == [Leave("ann-1", None, hold.memo, channel="ann")]
        assert scene.server.memos["a"] == (hold.memo, EPOCH)

    def test_what_was_lost_leaves_nothing_behind(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold.memo = Memo("done", EPOCH + 60.0)
        hold.lose(FORGOTTEN)
        scene.play(release(ann.world, ann.desk, hold))
        assert ann.world.asks("leave") == [Leave("ann-1")]
        assert scene.server.memos == {}

    @pytest.mark.parametrize("is_dropped", [False, True])
    def test_a_release_that_is_interrupted_still_leaves_it_behind(
        self, scene: Scene, ann: Process, is_dropped: bool
    ) -> None:
        hold = ann.holds(REQUEST)
        hold.memo = Memo("done", EPOCH + 60.0)
        ann.world.doom("leave", SILENT)
        task = scene.spawn(release(ann.world, ann.desk, hold))
        scene.until(0.5)
        if is_dropped:
            task.drop()
        else:
            task.cancel()
        ann.start_keeper()
        scene.until(1.0)
        assert scene.server.memos["a"][0] == hold.memo

    def test_of_what_one_has_entered_several_times_the_last_who_leaves_leaves_it_behind(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(Request("a", 30.0, is_counted=True))
        entry = scene.play(reenter(ann.world, ann.desk, hold))
        hold.memo = Memo("done", EPOCH + 60.0)
        scene.play(release(ann.world, ann.desk, hold, entry=entry))
        assert scene.server.memos == {}
        scene.play(release(ann.world, ann.desk, hold))
        assert scene.server.memos["a"][0] == hold.memo


class TestGivingBack:
    def test_what_is_given_back_is_free_and_told_as_released(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold.bar_until = EPOCH + 100.0
        scene.until(5.0)
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert ann.world.asks("leave") == [Leave("ann-1", EPOCH + 100.0)]
        assert scene.server.locks["a"].holder is None
        assert ann.desk.holds == {}
        assert ann.events[1:] == [Released("a", hold.fence, 5.0)]

    def test_whoever_still_works_can_see_why_it_ended_before_the_store_is_asked(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", Fate(1.0))
        task = scene.spawn(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert hold.check(scene.now) is Verdict.LOST
        assert (hold.lost_because, hold.is_over, ann.desk.holds) == (ENDED, True, {})
        scene.finish(task)
        assert ann.told(Released) == [Released("a", hold.fence, 1.0)]

    def test_what_was_released_already_is_not_given_back_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(release(ann.world, ann.desk, hold))
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert (len(ann.world.asks("leave")), len(ann.told(Released))) == (1, 1)
        assert hold.loss() is None

    def test_a_store_that_refuses_at_first_is_asked_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.doom("leave", REFUSED)
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert scene.server.locks == {}

    def test_a_silent_store_is_told_after_two_seconds(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.world.is_silent = True
        with pytest.raises(StoreUnreachable):
            scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert scene.now == PATIENCE
        assert (hold.is_over, ann.told(Released)) == (True, [])

    def test_what_the_store_no_longer_knew_is_not_told_as_released(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.server.locks.clear()
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert ann.told(Released) == []

    def test_what_the_store_no_longer_knew_is_told_as_lost(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(REQUEST, watchers=[told.append])
        scene.server.locks.clear()
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert [lost.fence for lost in ann.told(Lost)] == [loss.fence for loss in told] == [hold.fence]

    def test_what_was_lost_before_is_given_back_but_told_as_lost_for_its_first_reason(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        scene.until(27.0)
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert scene.server.locks == {}, "the store knew it still"
        assert ann.events[1:] == [Lost("a", hold.fence, RAN_OUT)]

    def test_a_loss_that_was_told_already_is_not_told_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", *[SILENT] * 20)
        scene.until(28.0)
        scene.play(give_back(ann.world, ann.desk, hold, reason=ENDED))
        assert (ann.told(Lost), ann.told(Released)) == ([Lost("a", hold.fence, RAN_OUT)], [])


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

    def test_a_store_that_refuses_at_first_is_asked_again_and_trust_counts_from_the_first_ask(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        scene.until(5.0)
        ann.world.doom("keep", REFUSED, REFUSED)
        assert scene.play(prolong(ann.world, ann.desk, hold)) is None
        assert len(ann.world.asks("keep")) == 3
        assert scene.now > 5.0
        assert hold.tenure == Tenure(30.0, 5.0)

    def test_a_store_that_always_refuses_is_told_and_the_lease_stands_while_it_is_trusted(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        scene.until(5.0)
        ann.world.doom("keep", *[REFUSED] * 20)
        with pytest.raises(StoreRefused):
            scene.play(prolong(ann.world, ann.desk, hold))
        assert (hold.lost_because, ann.desk.holds) == (None, {"ann-1": hold})

    def test_a_lease_that_was_released_is_not_asked_for(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(5.0)
        assert scene.play(prolong(ann.world, ann.desk, hold)) is None
        assert ann.world.asks("keep") == []
