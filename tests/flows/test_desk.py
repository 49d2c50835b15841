"""What one client has in hand."""

from __future__ import annotations

import gc
from math import inf
from weakref import ref

import pytest

from dibs.errors import LeaseLost
from dibs.events import Event, Lost, Stumbled
from dibs.flows.desk import RETRY, Debt, Waiting, note_debt, owe, tell_loss
from dibs.flows.hold import EVICTED, Hold
from dibs.model.asks import Leave, Push, StillQueued
from dibs.model.request import Request
from dibs.model.tenure import Tenure
from dibs.ports.world import AskAgain, Handed, Taken, Wake
from tests.flows.scripted import REFUSED, SILENT, Fate, Process, Scene, ScriptedInbox


def lease(owner: str = "ann-1", *, fence: int = 7, asked_at: float = 0.0) -> Hold:
    return Hold(Request("a", 30.0), owner, fence, Tenure(30.0, asked_at))


class TestEnrolling:
    def test_the_highest_fence_is_remembered(self, ann: Process) -> None:
        ann.desk.enrol(lease(fence=9))
        ann.desk.enrol(lease("ann-2", fence=8))
        assert ann.desk.seen_fence == 9

    def test_the_keeper_is_woken_only_if_it_would_sleep_too_long(self, ann: Process) -> None:
        ann.desk.enrol(lease(asked_at=5.0))
        assert (ann.desk.wakes_at, ann.nudges) == (15.0, 1)
        ann.desk.enrol(lease("ann-2", asked_at=5.0))
        assert (ann.desk.wakes_at, ann.nudges) == (15.0, 1)
        ann.desk.enrol(lease("ann-3", asked_at=4.0))
        assert (ann.desk.wakes_at, ann.nudges) == (14.0, 2)

    def test_a_lease_that_is_not_renewed_wakes_the_keeper_at_its_end(self, ann: Process) -> None:
        ann.desk.enrol(Hold(Request("a", 30.0, renew=False), "ann-1", 7, Tenure(30.0, 0.0)))
        assert ann.desk.wakes_at == 27.0


class TestStriking:
    def test_nothing_is_left_of_a_lease_that_was_struck(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        ann.desk.strike(hold)
        assert ann.desk.holds == {}

    def test_striking_twice_does_no_harm(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        ann.desk.strike(hold)
        ann.desk.strike(hold)
        assert ann.desk.holds == {}

    def test_a_newer_lease_on_the_same_lock_stays(self, ann: Process) -> None:
        lost, newer = lease(), lease("ann-2")
        ann.desk.enrol(lost)
        ann.desk.enrol(newer)
        ann.desk.strike(lost)
        assert ann.desk.holds == {"ann-2": newer}


class TestAbandoning:
    def test_a_forgotten_lease_is_noted_for_the_keeper(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        ann.desk.abandon(hold)
        assert (ann.desk.abandoned, ann.nudges) == ([hold], 2)

    def test_who_notes_it_does_nothing_else_for_it_may_be_the_garbage_collector(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        ann.desk.abandon(hold)
        assert (ann.desk.holds, hold.is_over, hold.lost_because) == ({"ann-1": hold}, False, None)
        assert (ann.desk.debts, ann.events, ann.world.sent) == ({}, [], [])

    def test_a_lease_that_was_released_is_not_forgotten(self, ann: Process) -> None:
        hold = lease()
        hold.end()
        ann.desk.abandon(hold)
        assert (ann.desk.abandoned, ann.nudges) == ([], 0)


class TestDelivering:
    def test_a_hand_over_goes_to_the_inbox_of_its_owner(self, ann: Process) -> None:
        mine, other = ann.world.listen("ann-1"), ann.world.listen("ann-1")
        ann.desk.inboxes.update({"ann-1": ref(mine), "ann-2": ref(other)})
        ann.desk.deliver(Push("ann", "ann-1", 7, "handed"), 3.0)
        assert (mine.arrived(), other.arrived()) == ([Handed(7, 3.0)], [])

    def test_one_who_is_woken_asks_again_at_once_or_before_long(self, ann: Process) -> None:
        inbox = ann.world.listen("ann-1")
        ann.desk.inboxes["ann-1"] = ref(inbox)
        ann.desk.deliver(Push("ann", "ann-1", 0, "woken", 0.02), 3.0)
        ann.desk.deliver(Push("ann", "ann-1", 0, "woken"), 3.0)
        assert inbox.arrived() == [StillQueued(0.02), AskAgain()]

    def test_a_loss_goes_to_the_inbox_and_to_the_lease(self, ann: Process) -> None:
        inbox, hold = ann.world.listen("ann-1"), lease()
        ann.desk.inboxes["ann-1"] = ref(inbox)
        ann.desk.enrol(hold)
        ann.desk.deliver(Push("ann", "ann-1", 7, "evicted"), 3.0)
        assert (inbox.arrived(), hold.lost_because, ann.nudges) == ([Taken(7)], EVICTED, 2)

    def test_the_inbox_comes_first_because_who_enters_looks_at_it_last(self, ann: Process) -> None:
        hold = lease()

        class Entering(ScriptedInbox):
            """The one who waits enters at the very moment that the loss arrives."""

            def put(self, wake: Wake) -> None:
                super().put(wake)
                ann.desk.enrol(hold)

        entering = Entering(ann)
        ann.desk.inboxes["ann-1"] = ref(entering)
        ann.desk.deliver(Push("ann", "ann-1", 7, "evicted"), 3.0)
        assert hold.lost_because == EVICTED

    def test_a_loss_of_another_grant_leaves_the_lease_alone(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        ann.desk.deliver(Push("ann", "ann-1", 6, "evicted"), 3.0)
        assert hold.lost_because is None

    def test_a_hand_over_does_not_touch_a_lease(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        ann.desk.deliver(Push("ann", "ann-1", 7, "handed"), 3.0)
        assert (hold.lost_because, hold.tenure) == (None, Tenure(30.0, 0.0))

    def test_news_for_nobody_is_dropped(self, ann: Process) -> None:
        ann.desk.deliver(Push("ann", "stranger", 7, "evicted"), 3.0)
        assert ann.nudges == 0

    def test_everybody_who_waits_asks_again_after_a_broken_connection(self, ann: Process) -> None:
        inboxes = [ann.world.listen("ann-1"), ann.world.listen("ann-1")]
        ann.desk.inboxes.update(zip("xy", map(ref, inboxes), strict=True))
        ann.desk.ask_again()
        assert [inbox.arrived() for inbox in inboxes] == [[AskAgain()], [AskAgain()]]


class TestInboxes:
    def test_an_inbox_is_found_while_somebody_waits_at_it(self, ann: Process) -> None:
        inbox = ann.world.listen("ann-1")
        ann.desk.inboxes["ann-1"] = ref(inbox)
        assert ann.desk.inbox("ann-1") is inbox
        assert ann.desk.inbox("ann-2") is None

    def test_an_inbox_at_which_nobody_waits_any_more_is_not_kept(self, ann: Process) -> None:
        ann.desk.inboxes["ann-1"] = ref(ann.world.listen("ann-1"))
        gc.collect()
        assert ann.desk.inbox("ann-1") is None

    def test_who_has_gone_does_not_keep_the_others_from_hearing(self, ann: Process) -> None:
        inbox, hold = ann.world.listen("ann-1"), lease()
        ann.desk.inboxes.update({"ann-1": ref(ann.world.listen("ann-1")), "ann-2": ref(inbox)})
        ann.desk.enrol(hold)
        gc.collect()
        ann.desk.ask_again()
        ann.desk.deliver(Push("ann", "ann-1", 7, "evicted"), 3.0)
        assert (inbox.arrived(), hold.lost_because) == ([AskAgain()], EVICTED)


class TestOwing:
    def test_a_leave_that_is_answered_at_once_is_not_owed(self, scene: Scene, ann: Process) -> None:
        owe(ann.world, ann.desk, "a", Leave("ann-1"), ttl=30.0)
        assert ann.desk.debts == {}
        ann.start_keeper()
        scene.until(60.0)
        assert len(ann.world.asks("leave")) == 1
        assert ann.desk.wakes_at == inf

    def test_a_leave_that_could_not_even_be_sent_is_owed_and_the_keeper_knows(self, ann: Process) -> None:
        ann.world.faults.append(OSError("no route"))
        with pytest.raises(OSError, match="no route"):
            owe(ann.world, ann.desk, "a", Leave("ann-1"), ttl=30.0)
        assert list(ann.desk.debts) == ["ann-1"]
        assert (ann.desk.wakes_at, ann.nudges) == (RETRY, 1)

    def test_a_leave_that_was_refused_stays_owed(self, scene: Scene, ann: Process) -> None:
        ann.world.doom("leave", REFUSED)
        owe(ann.world, ann.desk, "a", Leave("ann-1"), ttl=30.0)
        scene.until(5.0)
        assert list(ann.desk.debts) == ["ann-1"]

    def test_a_debt_that_was_noted_is_the_keepers_to_say_and_due_now(self, scene: Scene, ann: Process) -> None:
        scene.until(5.0)
        note_debt(ann.world, ann.desk, "a", Leave("ann-1", 9.0), ttl=30.0)
        assert ann.desk.debts == {"ann-1": Debt("a", Leave("ann-1", 9.0), 5.0, 5.0, 125.0 + RETRY, 5.0)}
        assert (ann.desk.wakes_at, ann.nudges, ann.world.sent) == (5.0, 1, [])
        ann.start_keeper()
        assert ann.world.asks("leave") == [Leave("ann-1", 9.0)]
        assert ann.desk.debts == {}

    def test_a_leave_is_owed_until_it_is_answered(self, scene: Scene, ann: Process) -> None:
        scene.until(5.0)
        ann.world.doom("leave", Fate(0.1, 0.1))
        owe(ann.world, ann.desk, "a", Leave("ann-1", 9.0), ttl=30.0)
        assert ann.desk.debts == {"ann-1": Debt("a", Leave("ann-1", 9.0), 5.0, 5.0 + RETRY, 125.0 + RETRY, 5.0)}
        assert (ann.desk.wakes_at, ann.nudges) == (5.0 + RETRY, 1)
        scene.until(5.2)
        assert ann.desk.debts == {}

    @pytest.mark.parametrize(("channel", "wakes"), [("here", [AskAgain()]), ("", [])])
    def test_who_waits_here_asks_again_when_an_answer_was_lost_that_may_have_told_it_something(
        self, ann: Process, channel: str, wakes: list[Wake]
    ) -> None:
        here, elsewhere = ann.world.listen("ann-2"), ann.world.listen("ann-3")
        ann.desk.inboxes.update({"ann-2": ref(here), "ann-3": ref(elsewhere)})
        for name, owner in (("a", "ann-2"), ("b", "ann-3"), ("a", "ann-4")):
            ann.desk.tickets[owner] = Waiting(name, owner, 30.0, kept_at=0.0)
        owe(ann.world, ann.desk, "a", Leave("ann-1", channel=channel), ttl=30.0)
        assert ann.desk.debts == {}
        assert (here.arrived(), elsewhere.arrived()) == (wakes, [])

    def test_a_leave_that_is_not_answered_stays_owed(self, scene: Scene, ann: Process) -> None:
        ann.world.doom("leave", SILENT)
        owe(ann.world, ann.desk, "a", Leave("ann-1"), ttl=30.0)
        scene.until(5.0)
        assert list(ann.desk.debts) == ["ann-1"]


class TestTellingOfALoss:
    def test_everybody_is_told_once(self, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = lease()
        hold.watch((told.append, told.append))
        ann.desk.enrol(hold)
        hold.lose(EVICTED)
        tell_loss(ann.desk, hold)
        tell_loss(ann.desk, hold)
        assert ann.events == [Lost("a", 7, EVICTED)]
        assert [(loss.name, loss.fence, loss.reason) for loss in told] == [("a", 7, EVICTED)] * 2

    def test_nothing_is_told_of_a_lease_that_was_not_lost(self, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = lease()
        hold.watch((told.append,))
        ann.desk.enrol(hold)
        tell_loss(ann.desk, hold)
        assert (ann.events, told) == ([], [])

    def test_what_is_on_the_desk_stays_there(self, ann: Process) -> None:
        hold = lease()
        ann.desk.enrol(hold)
        hold.lose(EVICTED)
        tell_loss(ann.desk, hold)
        assert ann.desk.holds == {"ann-1": hold}

    @pytest.mark.parametrize("error", [RuntimeError("oops"), KeyboardInterrupt(), SystemExit(1)], ids=repr)
    def test_a_watcher_that_raises_is_reported_and_the_others_are_still_called(
        self, ann: Process, error: BaseException
    ) -> None:
        told: list[LeaseLost] = []

        def clumsy(loss: LeaseLost) -> None:
            raise error

        hold = lease()
        hold.watch((clumsy, told.append))
        hold.lose(EVICTED)
        tell_loss(ann.desk, hold)
        expected: list[Event] = [
            Lost("a", 7, EVICTED),
            Stumbled("telling of the loss of 'a'", repr(error)),
        ]
        assert ann.events == expected
        assert len(told) == 1
