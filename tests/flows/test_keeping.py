"""What the keeper does, round after round."""

from __future__ import annotations

import gc
from itertools import pairwise
from math import inf
from typing import Any
from weakref import ref

import pytest

from dibs.errors import LeaseLost
from dibs.events import (
    Abandoned,
    Acquired,
    Event,
    HeldLong,
    JoinedQueue,
    Lost,
    Released,
    StoreBack,
    StoreSilent,
    Stumbled,
)
from dibs.flows.desk import RETRY, Waiting, owe
from dibs.flows.hold import EVICTED, FORGOTTEN, RAN_OUT, REACHED_MAX_HOLD, Hold
from dibs.flows.keeping import BATCH, leave_queues, settle
from dibs.flows.locking import release
from dibs.model.asks import Evict, KeepAlive, Leave, Renew
from dibs.model.backoff import backoff
from dibs.model.request import A_MOMENT, PATIENCE, Request
from dibs.model.tenure import NOT_RENEWED, Tenure, Verdict
from dibs.ports.world import AskAgain
from dibs.stores.direct import DirectLocks
from tests.flows.scripted import ANSWERED, EPOCH, REFUSED, SILENT, Fate, Process, Scene

REQUEST = Request("a", 30.0)


def expiry(scene: Scene, name: str = "a") -> float:
    """When the store would drop the lease, by the scene's clock."""
    holder = scene.server.locks[name].holder
    assert holder is not None
    return holder.expires_at - EPOCH


class TestRenewing:
    def test_a_lease_is_renewed_every_third_of_its_ttl(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(25.0)
        assert ann.world.moments("keep") == [10.0, 20.0]
        assert ann.world.asks("keep")[0] == [("a", Renew("ann-1", hold.fence, 30.0))]
        assert (hold.tenure, expiry(scene)) == (Tenure(30.0, 20.0), 50.0)

    def test_a_lease_is_kept_for_as_long_as_its_holder_lives(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(1_000.0)
        assert hold.check(1_000.0) is not Verdict.LOST
        assert ann.told(Lost) == []

    def test_trust_counts_from_when_the_renewal_was_asked(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", Fate(1.0, 1.0))
        scene.until(12.0)
        assert (hold.tenure, expiry(scene)) == (Tenure(30.0, 10.0), 41.0)

    def test_a_keeper_with_nothing_to_do_sleeps_until_it_is_nudged(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        scene.until(50.0)
        assert (ann.desk.wakes_at, ann.world.sent) == (inf, [])
        ann.holds(REQUEST)
        scene.until(50.0)
        assert ann.desk.wakes_at == 60.0

    def test_what_comes_up_during_a_round_wakes_the_keeper_again(self, scene: Scene, ann: Process) -> None:
        ann.holds(Request("a", 30.0, renew=False), watchers=[lambda _: ann.desk.look_after(28.0)])
        ann.start_keeper()
        scene.until(26.0)
        before = ann.nudges
        scene.until(27.0)
        assert ann.nudges == before + 1

    def test_a_thousand_leases_share_one_command(self, scene: Scene, ann: Process) -> None:
        holds = [ann.holds(Request(f"job-{number}", 30.0)) for number in range(2 * BATCH + 1)]
        ann.start_keeper()
        scene.until(10.0)
        assert [len(batch) for batch in ann.world.asks("keep")] == [BATCH, BATCH, 1]
        assert all(hold.tenure.asked_at == 10.0 for hold in holds)

    def test_leases_in_different_parts_of_a_store_are_not_renewed_together(self, scene: Scene, ann: Process) -> None:
        class Parted(DirectLocks):
            def part_of(self, name: str) -> int:
                return len(name)

        ann.desk.store = Parted("")
        for name in ("a", "bb", "c"):
            ann.holds(Request(name, 30.0))
        ann.start_keeper()
        scene.until(10.0)
        assert [[name for name, _ in batch] for batch in ann.world.asks("keep")] == [["a", "c"], ["bb"]]

    def test_leases_fall_into_step(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        for moment, name in ((0.0, "a"), (5.0, "b"), (5.5, "c")):
            scene.until(moment)
            ann.holds(Request(name, 30.0))
        scene.until(26.0)
        batches = [[name for name, _ in batch] for batch in ann.world.asks("keep")]
        assert batches == [["a", "b"], ["a", "b", "c"], ["a", "b", "c"]]
        assert ann.world.moments("keep") == [10.0, 15.5, 25.5]

    def test_a_renewal_that_is_not_answered_is_asked_again_after_a_tenth_of_the_ttl(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", SILENT, SILENT)
        scene.until(17.0)
        assert ann.world.moments("keep") == [10.0, 13.0, 16.0]
        assert hold.tenure == Tenure(30.0, 16.0)

    def test_what_was_released_is_never_renewed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(9.0)
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(60.0)
        assert ann.world.asks("keep") == []

    def test_max_hold_caps_what_is_asked_for(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, max_hold=75.0))
        ann.start_keeper()
        scene.until(72.0)
        assert [batch[0][1].ttl for batch in ann.world.asks("keep")] == [30.0, 30.0, 30.0, 30.0, 25.0]
        assert (expiry(scene), ann.told(Lost)) == (75.0, [])
        scene.until(72.5)
        assert ann.told(Lost) == [Lost("a", hold.fence, REACHED_MAX_HOLD)]

    def test_a_lease_that_is_not_to_be_renewed_is_told_when_it_is_over(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, renew=False))
        ann.start_keeper()
        scene.until(26.9)
        assert ann.told(Lost) == []
        scene.until(27.0)
        assert ann.told(Lost) == [Lost("a", hold.fence, NOT_RENEWED)]
        assert ann.world.asks("keep") == []

    def test_a_lease_that_is_not_to_be_renewed_is_not_renewed_along_with_others(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.holds(Request("a", 30.0, renew=False))
        ann.holds(Request("b", 30.0))
        ann.start_keeper()
        scene.until(20.0)
        assert [[name for name, _ in batch] for batch in ann.world.asks("keep")] == [["b"], ["b"]]


class TestLosing:
    def test_a_lease_the_store_forgot_is_told_as_soon_as_that_is_heard(self, scene: Scene, ann: Process) -> None:
        told: list[tuple[float, str]] = []
        hold = ann.holds(REQUEST, watchers=[lambda loss: told.append((scene.now, loss.reason))])
        ann.start_keeper()
        scene.server.locks.clear()
        scene.until(10.0)
        assert ann.told(Lost) == [Lost("a", hold.fence, FORGOTTEN)]
        assert told == [(10.0, FORGOTTEN)]
        assert ann.desk.holds == {}

    def test_a_loss_in_a_silent_store_is_told_before_anybody_is_let_in(self, scene: Scene, ann: Process) -> None:
        told: list[float] = []
        hold = ann.holds(REQUEST, watchers=[lambda _: told.append(scene.now)])
        ann.start_keeper()
        ann.world.is_silent = True
        scene.until(30.0)
        assert ann.told(Lost) == [Lost("a", hold.fence, RAN_OUT)]
        assert told == [27.0]
        assert told[0] < expiry(scene)

    def test_an_answer_that_comes_after_the_loss_changes_nothing(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", *[Fate(0.0, 20.0)] * 10)
        scene.until(60.0)
        assert ann.told(Lost) == [Lost("a", hold.fence, RAN_OUT)]
        assert hold.tenure == Tenure(30.0, 0.0)

    def test_an_eviction_is_told_at_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.at(3.0, lambda: scene.execute(("ask", "a", Evict(hold.fence))))
        scene.until(3.0)
        assert ann.told(Lost) == [Lost("a", hold.fence, EVICTED)]

    def test_a_watcher_that_raises_stops_neither_the_others_nor_the_keeper(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []

        def clumsy(loss: LeaseLost) -> None:
            raise RuntimeError("oops")

        lost = ann.holds(REQUEST, watchers=[clumsy, told.append])
        kept = ann.holds(Request("b", 30.0))
        ann.start_keeper()
        scene.until(1.0)
        scene.execute(("ask", "a", Evict(lost.fence)))
        scene.until(40.0)
        assert [loss.name for loss in told] == ["a"]
        assert ann.told(Stumbled) == [Stumbled("telling of the loss of 'a'", "RuntimeError('oops')")]
        assert kept.tenure == Tenure(30.0, 40.0)

    def test_a_hold_of_more_than_ten_ttls_is_told_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 3.0))
        ann.start_keeper()
        scene.until(30.0)
        assert ann.told(HeldLong) == []
        scene.until(100.0)
        assert ann.told(HeldLong) == [HeldLong("a", hold.fence, 31.0, 3.0)]


class TestTickets:
    def test_a_ticket_is_kept_alive_every_third_of_its_ttl(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        ann.start_keeper()
        bob.start_keeper()
        scene.spawn(bob.acquires(Request("a", 15.0)))
        scene.until(16.0)
        assert bob.world.moments("keep") == [5.0, 10.0, 15.0]
        assert bob.world.asks("keep")[0] == [("a", KeepAlive("bob-1", 15.0))]
        assert [ticket.owner for ticket in scene.server.locks["a"].queue] == ["bob-1"]

    def test_those_who_joined_one_after_another_fall_into_step(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        ann.start_keeper()
        bob.start_keeper()
        for joins_at in (0.0, 1.0, 2.0, 4.0):
            scene.until(joins_at)
            scene.spawn(bob.acquires(Request("a", 15.0)))
        scene.until(14.0)
        assert bob.world.moments("keep") == [5.0, 9.0, 14.0]
        assert [len(batch) for batch in bob.world.asks("keep")] == [3, 4, 4]

    def test_leases_and_tickets_share_their_command(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        bob.holds(Request("b", 30.0))
        bob.start_keeper()
        scene.spawn(bob.acquires(REQUEST))
        scene.until(10.0)
        assert [[name for name, _ in batch] for batch in bob.world.asks("keep")] == [["b", "a"]]

    def test_a_hung_loops_ticket_is_not_kept_alive(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(Request("a", 300.0))
        bob.start_keeper()
        scene.spawn(bob.acquires(REQUEST))
        scene.until(1.0)
        bob.hang()
        scene.until(39.0)
        assert bob.world.moments("keep") == [10.0], "at 20 s it had not run for more than half of its TTL"
        bob.wake()
        scene.until(40.0)
        assert bob.world.moments("keep") == [10.0, 40.0]

    def test_a_ticket_whose_loop_has_not_run_for_two_ttls_is_dropped(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(Request("a", 300.0))
        bob.start_keeper()
        scene.spawn(bob.acquires(REQUEST))
        scene.until(1.0)
        bob.hang()
        scene.until(61.0)
        assert list(bob.desk.tickets) == ["bob-1"]
        scene.until(70.0)
        assert (bob.desk.tickets, bob.desk.wakes_at) == ({}, inf)
        assert bob.world.moments("keep") == [10.0]

    def test_a_loop_that_wakes_after_its_ticket_was_dropped_joins_again(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(Request("a", 300.0))
        ann.start_keeper()
        bob.start_keeper()
        scene.spawn(bob.acquires(REQUEST))
        scene.until(1.0)
        bob.hang()
        scene.until(75.0)
        assert bob.desk.tickets == {}
        bob.wake()
        scene.until(305.0)
        assert {ask.owner for ask in bob.world.asks("acquire")} == {"bob-1"}
        assert bob.told(JoinedQueue) == [JoinedQueue("a", "ann", 0)] * 2
        assert list(bob.desk.tickets) == ["bob-1"]
        assert [ticket.owner for ticket in scene.server.locks["a"].queue] == ["bob-1"]

    def test_a_loop_that_wakes_after_its_ticket_was_dropped_joins_again_at_once(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        hold = ann.holds(Request("a", 300.0))
        bob.start_keeper()
        task = scene.spawn(bob.acquires(REQUEST))
        scene.until(1.0)
        bob.hang()
        scene.until(75.0)
        bob.wake()
        scene.until(100.0)
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(101.0)
        assert task.is_done, "the lock is free, and bob waits for it without a place in its queue"

    def test_an_answer_for_one_who_has_gone_meanwhile_is_heard_by_nobody(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(REQUEST)
        bob.start_keeper()
        bob.world.doom("keep", Fate(1.0, 1.0))
        task = scene.spawn(bob.acquires(REQUEST))
        scene.until(11.5)
        task.cancel()
        scene.until(60.0)
        assert len(bob.world.asks("keep")) == 1
        assert (bob.told(Stumbled), bob.desk.tickets, bob.desk.debts) == ([], {}, {})

    def test_nothing_is_kept_alive_after_the_wait(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        bob.start_keeper()
        scene.play(bob.acquires(Request("a", 30.0, wait=5.0)))
        scene.until(60.0)
        assert bob.world.asks("keep") == []


class TestThrownOut:
    """A flow that ended without leaving, by a signal say: its inbox is garbage, its ticket stands."""

    def test_its_ticket_is_given_up_and_an_ask_that_is_on_its_way_is_barred_for_two_ttls(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(REQUEST)
        bob.start_keeper()
        task = scene.spawn(bob.acquires(Request("a", 24.0)))
        scene.until(3.0)
        bob.throw_out(task)
        assert list(bob.desk.tickets) == ["bob-1"]
        scene.until(8.0)
        assert bob.world.asks("leave") == [Leave("bob-1", EPOCH + 56.0)]
        assert (bob.desk.tickets, bob.desk.debts, bob.world.asks("keep")) == ({}, {}, [])
        assert scene.server.locks["a"].queue == ()

    def test_one_who_gets_the_lock_just_when_the_keeper_looks_is_not_taken_for_one(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        """The flow is on another thread: it may enter, and stop waiting, between two steps of the keeper."""
        ann.holds(REQUEST)
        bob.start_keeper()
        scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)

        class ThenItEnters(dict[str, Waiting]):
            def values(self) -> Any:
                seen = list(super().values())
                self.clear()
                bob.desk.inboxes.clear()
                return seen

        bob.desk.tickets = ThenItEnters(bob.desk.tickets)
        scene.until(10.5)
        assert (bob.world.asks("leave"), bob.world.asks("keep"), bob.desk.debts) == ([], [], {})

    def test_where_the_stores_time_was_never_heard_its_ticket_is_left_to_its_ttl(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        ann.holds(REQUEST)
        bob.start_keeper()
        task = scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        bob.throw_out(task)
        bob.world.ahead = None
        scene.until(10.0)
        assert bob.world.asks("leave") == []
        assert (bob.desk.tickets, bob.desk.debts) == ({}, {})
        assert scene.server.locks["a"].at(EPOCH + 31.0).queue == ()

    def test_its_leave_is_owed_until_it_is_answered(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(Request("a", 300.0))
        bob.start_keeper()
        task = scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        bob.throw_out(task)
        bob.world.doom("leave", SILENT)
        scene.until(10.0)
        assert [debt.leave for debt in bob.desk.debts.values()] == [Leave("bob-1", EPOCH + 70.0)]
        scene.until(12.0)
        assert (bob.desk.debts, scene.server.locks["a"].queue) == ({}, ())

    def test_a_lock_that_was_handed_to_it_goes_to_the_next(self, scene: Scene, ann: Process, bob: Process) -> None:
        first = ann.holds(REQUEST)
        bob.start_keeper()
        gone = scene.spawn(bob.acquires(REQUEST))
        waits = scene.spawn(scene.process("carol").acquires(REQUEST))
        scene.until(3.0)
        bob.throw_out(gone)
        scene.play(release(ann.world, ann.desk, first))
        scene.until(9.9)
        assert not waits.is_done
        scene.until(10.0)
        assert waits.is_done

    def test_whoever_else_waits_in_the_process_keeps_its_place(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(Request("a", 300.0))
        bob.start_keeper()
        gone = scene.spawn(bob.acquires(REQUEST))
        scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        bob.throw_out(gone)
        scene.until(60.0)
        assert list(bob.desk.tickets) == ["bob-2"]
        assert [ticket.owner for ticket in scene.server.locks["a"].queue] == ["bob-2"]

    def test_nothing_of_it_stays_on_the_desk(self, scene: Scene, ann: Process, bob: Process) -> None:
        ann.holds(REQUEST)
        bob.start_keeper()
        task = scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        bob.throw_out(task)
        scene.until(60.0)
        assert (bob.desk.tickets, bob.desk.debts) == ({}, {})
        assert bob.desk.inboxes == {}


class Bearer:
    """What the user has in hand."""


class TestDropped:
    """A lease whose user has let it go without a release."""

    def test_it_ends_and_is_told_and_left_when_the_keeper_comes_round(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(REQUEST, watchers=[told.append])
        ann.start_keeper()
        scene.until(1.0)
        ann.world.doom("leave", SILENT)
        ann.desk.abandon(hold)
        scene.until(1.0)
        assert (ann.desk.abandoned, ann.desk.holds, hold.is_over) == ([], {}, True)
        assert ann.desk.debts["ann-1"].leave == Leave("ann-1", None)
        assert (ann.told(Abandoned), ann.told(Lost), told) == ([Abandoned("a", hold.fence)], [], [])

    def test_one_that_is_released_before_the_keeper_comes_round_was_not_dropped(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        ann.desk.abandon(hold)
        scene.play(release(ann.world, ann.desk, hold))
        ann.start_keeper()
        assert ann.events[1:] == [Released("a", hold.fence, 0.0)]
        assert (len(ann.world.asks("leave")), ann.desk.abandoned) == (1, [])

    def test_one_that_is_noted_twice_is_given_back_once(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.desk.abandon(hold)
        ann.desk.abandon(hold)
        ann.start_keeper()
        assert (ann.told(Abandoned), len(ann.world.asks("leave"))) == ([Abandoned("a", hold.fence)], 1)

    def test_it_is_found_even_if_nobody_told_that_its_bearer_is_garbage(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        bearer = Bearer()
        hold = ann.holds(REQUEST)
        hold.bearer = ref(bearer)  # and no callback: it was lost, in a signal say
        ann.start_keeper()
        scene.until(15.0)
        assert ann.told(Abandoned) == []
        del bearer
        gc.collect()
        scene.until(20.0)
        assert (ann.told(Abandoned), ann.desk.holds) == ([Abandoned("a", hold.fence)], {})
        assert ann.world.moments("keep") == [10.0]
        assert bob.holds(REQUEST).waited == 0.0


class TestDebts:
    def test_what_is_owed_is_repeated_with_growing_pauses_until_it_is_answered(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.is_silent = True
        ann.desk.abandon(hold)
        scene.until(10.0)
        moments = ann.world.moments("leave")
        pauses = [later - sooner for sooner, later in pairwise(moments)]
        assert moments[:2] == [0.0, RETRY + backoff(1, "ann-1")]
        assert all(RETRY <= pause < RETRY + 1.0 for pause in pauses)
        assert pauses[:4] == sorted(pauses[:4])
        assert list(ann.desk.debts) == ["ann-1"]
        ann.world.is_silent = False
        scene.until(12.0)
        assert (ann.desk.debts, scene.server.locks) == ({}, {})
        paid = len(ann.world.asks("leave"))
        scene.until(30.0)
        assert len(ann.world.asks("leave")) == paid

    def test_what_is_owed_is_forgotten_after_four_ttls(self, scene: Scene, ann: Process) -> None:
        ann.start_keeper()
        ann.world.is_silent = True
        owe(ann.world, ann.desk, "a", Leave("ann-1"), ttl=3.0)
        scene.until(12.0)
        assert list(ann.desk.debts) == ["ann-1"]
        scene.until(14.0)
        assert ann.desk.debts == {}
        said = len(ann.world.asks("leave"))
        scene.until(60.0)
        assert len(ann.world.asks("leave")) == said
        assert ann.desk.wakes_at == inf

    def test_a_lease_that_was_dropped_is_given_back(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold.bar_until = EPOCH + 1.5
        ann.start_keeper()
        scene.until(1.0)
        ann.desk.abandon(hold)
        scene.until(1.0)
        assert ann.told(Abandoned) == [Abandoned("a", hold.fence)]
        assert ann.world.asks("leave") == [Leave("ann-1", EPOCH + 1.5)]
        assert scene.server.locks["a"].holder is None

    def test_what_was_refused_is_said_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("leave", REFUSED, REFUSED)
        ann.desk.abandon(hold)
        scene.until(2.0)
        assert (ann.desk.debts, scene.server.locks) == ({}, {})
        assert len(ann.world.asks("leave")) == 3

    def test_a_lease_that_was_lost_and_then_dropped_is_left_without_another_word(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.is_silent = True
        scene.until(27.0)
        ann.world.is_silent = False
        ann.desk.abandon(hold)
        scene.until(28.0)
        assert (ann.told(Lost), ann.told(Abandoned)) == ([Lost("a", hold.fence, RAN_OUT)], [])
        assert ann.world.asks("leave") == [Leave("ann-1", None)]
        assert scene.server.locks == {}

    def test_a_loss_is_told_even_if_the_lease_is_dropped_before_the_keeper_comes_round(
        self, scene: Scene, ann: Process
    ) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(REQUEST, watchers=[told.append])
        ann.start_keeper()
        scene.until(1.0)
        scene.execute(("ask", "a", Evict(hold.fence)))
        ann.desk.abandon(hold)
        scene.until(2.0)
        assert (ann.told(Lost), ann.told(Abandoned)) == ([Lost("a", hold.fence, EVICTED)], [])
        assert [loss.reason for loss in told] == [EVICTED]


class TestSilence:
    def test_a_silent_store_is_told_once_and_its_return_too(self, scene: Scene, ann: Process) -> None:
        ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.is_silent = True
        scene.until(12.9)
        assert ann.told(StoreSilent) == []
        scene.until(17.0)
        assert ann.told(StoreSilent) == [StoreSilent("memory://scene", "what we ask is not answered")]
        ann.world.is_silent = False
        scene.until(40.0)
        assert ann.told(StoreBack) == [StoreBack(9.0)]
        assert len(ann.told(StoreSilent)) == 1
        assert ann.told(Lost) == []

    def test_a_store_that_falls_silent_again_is_told_again(self, scene: Scene, ann: Process) -> None:
        ann.holds(REQUEST)
        ann.start_keeper()
        for moment in (20.0, 50.0):
            ann.world.doom("keep", SILENT, SILENT, SILENT)
            scene.until(moment)
        assert len(ann.told(StoreSilent)) == len(ann.told(StoreBack)) == 2

    def test_an_answer_to_what_was_owed_is_a_sign_of_life_as_well(self, scene: Scene, ann: Process) -> None:
        ann.holds(REQUEST)
        dropped = ann.holds(Request("b", 30.0))
        ann.start_keeper()
        ann.world.is_silent = True
        scene.until(13.5)
        ann.desk.abandon(dropped)
        scene.until(13.6)
        ann.world.is_silent = False
        scene.until(14.0)
        assert ann.told(StoreBack) == [StoreBack(13.5 + RETRY + backoff(1, "ann-2") - 10.0)]

    def test_one_renewal_that_was_lost_is_no_silence(self, scene: Scene, ann: Process) -> None:
        ann.holds(Request("a", 15.0))
        ann.start_keeper()
        ann.world.doom("keep", SILENT)
        scene.until(60.0)
        assert ann.told(StoreSilent) == []

    def test_a_renewal_that_was_never_answered_is_no_silence_once_its_lease_was_given_back(
        self, scene: Scene, ann: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        ann.world.doom("keep", SILENT)
        scene.until(11.0)
        assert scene.play(release(ann.world, ann.desk, hold)) is None
        scene.until(1_000.0)
        ann.holds(REQUEST)
        scene.until(1_020.0)
        assert (ann.told(StoreSilent), ann.told(StoreBack)) == ([], [])


class TestOutliving:
    def test_the_keeper_outlives_an_error_and_tries_again(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        ann.start_keeper()
        scene.until(1.0)
        ann.world.faults.append(OSError("no route"))
        scene.until(30.0)
        assert ann.told(Stumbled) == [Stumbled("keeping leases", "OSError('no route')")]
        assert ann.world.moments("pause") == [10.0]
        assert ann.world.moments("keep")[0] == 13.0
        assert hold.check(30.0) is not Verdict.LOST

    def test_the_keeper_ends_when_the_desk_is_closed(self, scene: Scene, ann: Process) -> None:
        ann.holds(REQUEST)
        keeper = ann.start_keeper()
        scene.until(1.0)
        ann.desk.is_closed = True
        ann.bell.put(AskAgain())
        scene.until(1.0)
        assert keeper.is_done
        keeper.outcome()
        scene.until(60.0)
        assert ann.world.asks("keep") == []

    def test_a_keeper_goes_when_it_has_had_nothing_to_do_for_long(self, scene: Scene, ann: Process) -> None:
        keeper = ann.start_keeper(idle=5.0)
        scene.until(4.9)
        assert not keeper.is_done
        scene.finish(keeper)
        assert scene.now == 5.0
        assert ann.desk.wakes_at == inf, "whatever comes up next nudges"

    def test_a_nudge_makes_an_idle_keeper_stay_longer(self, scene: Scene, ann: Process) -> None:
        keeper = ann.start_keeper(idle=5.0)
        scene.until(3.0)
        ann.bell.put(AskAgain())
        scene.until(7.9)
        assert not keeper.is_done
        scene.until(8.0)
        assert keeper.is_done

    def test_a_lock_that_is_taken_and_given_back_while_it_has_nothing_to_do_does_not_wake_it(
        self, scene: Scene, ann: Process
    ) -> None:
        ann.start_keeper(idle=5.0)
        for _ in range(3):
            scene.play(release(ann.world, ann.desk, ann.holds(REQUEST)))
        assert ann.nudges == 0
        scene.until(1.1)
        hold = ann.holds(REQUEST)
        scene.until(20.0)
        assert (ann.nudges, hold.tenure.asked_at) == (0, 11.1), "it has seen by itself what there is to renew"

    def test_a_keeper_stays_while_there_is_anything_to_look_after(self, scene: Scene, ann: Process) -> None:
        keeper = ann.start_keeper(idle=5.0)
        hold = ann.holds(REQUEST)
        scene.until(100.0)
        assert not keeper.is_done
        assert ann.world.moments("keep") == [10.0 * number for number in range(1, 11)]
        scene.play(release(ann.world, ann.desk, hold))
        scene.until(120.0)
        assert keeper.is_done

    def test_a_keeper_stays_for_a_lease_that_is_not_to_be_renewed(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(Request("a", 30.0, renew=False))
        keeper = ann.start_keeper(idle=5.0)
        scene.until(27.0)
        assert not keeper.is_done
        assert ann.told(Lost) == [Lost("a", hold.fence, NOT_RENEWED)]
        scene.until(32.0)
        assert keeper.is_done

    def test_a_keeper_of_a_closed_desk_does_not_even_begin(self, ann: Process) -> None:
        ann.desk.is_closed = True
        assert ann.start_keeper().is_done


class TestSettling:
    def _owing(self, ann: Process, *names: str) -> list[Hold]:
        holds = [ann.holds(Request(name, 30.0)) for name in names]
        ann.world.doom("leave", *[SILENT] * len(names))
        for hold in holds:
            hold.end()
            owe(ann.world, ann.desk, hold.name, Leave(hold.owner), ttl=30.0)
        return holds

    def test_what_is_owed_is_said_once_more(self, scene: Scene, ann: Process) -> None:
        self._owing(ann, "a", "b")
        scene.play(settle(ann.world, ann.desk))
        assert (ann.desk.debts, scene.server.locks) == ({}, {})
        assert len(ann.world.asks("leave")) == 4

    def test_a_silent_store_is_waited_for_two_seconds_in_all(self, scene: Scene, ann: Process) -> None:
        self._owing(ann, "a", "b", "c")
        ann.world.doom("leave", Fate(0.5, 0.5), SILENT)
        scene.play(settle(ann.world, ann.desk))
        assert scene.now == PATIENCE
        assert sorted(ann.desk.debts) == ["ann-2", "ann-3"]

    def test_a_store_that_refuses_at_first_is_asked_again(self, scene: Scene, ann: Process) -> None:
        self._owing(ann, "a", "b")
        ann.world.doom("leave", REFUSED, ANSWERED, REFUSED)
        scene.play(settle(ann.world, ann.desk))
        assert (ann.desk.debts, scene.server.locks) == ({}, {})

    def test_a_store_that_always_refuses_is_given_up_in_time(self, scene: Scene, ann: Process) -> None:
        self._owing(ann, "a", "b")
        ann.world.doom("leave", *[REFUSED] * 50)
        scene.play(settle(ann.world, ann.desk))
        assert scene.now < PATIENCE
        assert sorted(ann.desk.debts) == ["ann-1", "ann-2"]

    def test_who_owes_nothing_is_done_at_once(self, scene: Scene, ann: Process) -> None:
        scene.play(settle(ann.world, ann.desk))
        assert (scene.now, ann.world.sent) == (0.0, [])


class TestLeavingTheQueues:
    def test_every_ticket_is_given_up_and_an_ask_that_is_on_its_way_is_barred_for_two_ttls(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        for name in ("a", "b"):
            ann.holds(Request(name, 30.0))
            scene.spawn(bob.acquires(Request(name, 20.0)))
        scene.until(3.0)
        scene.play(leave_queues(bob.world, bob.desk))
        assert (scene.now, bob.desk.tickets) == (3.0, {})
        assert {debt.name: debt.leave for debt in bob.desk.debts.values()} == {
            "a": Leave("bob-1", EPOCH + 43.0),
            "b": Leave("bob-2", EPOCH + 43.0),
        }
        assert bob.world.asks("leave") == [], "they are noted, for settle() to say"
        scene.play(settle(bob.world, bob.desk))
        assert [scene.server.locks[name].queue for name in ("a", "b")] == [(), ()]
        assert bob.desk.debts == {}

    def test_where_the_stores_time_was_never_heard_it_is_asked(self, scene: Scene, ann: Process, bob: Process) -> None:
        """As in a client that has waited in event loops only: the world for threads never asked."""
        ann.holds(REQUEST)
        scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        bob.world.ahead = None
        bob.world.doom("time", Fate(0.03, 0.03))
        scene.play(leave_queues(bob.world, bob.desk))
        assert [debt.leave for debt in bob.desk.debts.values()] == [Leave("bob-1", EPOCH + 63.03)]

    @pytest.mark.parametrize("fate", [SILENT, REFUSED])
    def test_where_the_stores_time_is_not_to_be_had_the_tickets_are_left_to_their_ttl(
        self, scene: Scene, ann: Process, bob: Process, fate: Fate
    ) -> None:
        ann.holds(REQUEST)
        scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        bob.world.ahead = None
        bob.world.doom("time", fate)
        scene.play(leave_queues(bob.world, bob.desk))
        assert scene.now <= 3.0 + A_MOMENT
        assert (bob.desk.debts, bob.world.asks("leave")) == ({}, [])

    def test_who_waits_nowhere_owes_nothing_and_asks_nothing(self, scene: Scene, ann: Process) -> None:
        ann.holds(REQUEST)
        ann.world.ahead = None
        scene.play(leave_queues(ann.world, ann.desk))
        assert (ann.desk.debts, ann.world.moments("time")) == ({}, [0.0])

    def test_who_has_just_got_the_lock_does_not_lose_it_for_the_ticket_it_had(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        first = ann.holds(REQUEST)

        def tell(event: Event) -> None:
            bob.events.append(event)
            if isinstance(event, Acquired):  # it has entered, and its ticket still stands
                assert list(bob.desk.tickets) == ["bob-1"]
                scene.spawn(leave_queues(bob.world, bob.desk))

        bob.desk.tell = tell
        task = scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        scene.play(release(ann.world, ann.desk, first))
        hold = scene.finish(task)
        assert isinstance(hold, Hold)
        assert (bob.desk.debts, bob.desk.holds) == ({}, {"bob-1": hold})

    def test_who_is_handed_the_lock_while_its_client_closes_does_not_work_beside_the_next(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        hold = ann.holds(REQUEST)
        scene.spawn(bob.acquires(REQUEST))
        scene.until(3.0)
        scene.execute(("ask", "a", Leave(hold.owner)))  # bob is handed the lock, and has yet to look
        bob.desk.is_closed = True
        scene.play(leave_queues(bob.world, bob.desk))
        bob.desk.ask_again()
        scene.spawn(settle(bob.world, bob.desk))
        scene.until(3.0)
        carol = scene.process("carol").holds(REQUEST)
        assert carol.check(scene.now) is Verdict.KEEP
        assert not any(other.check(scene.now) is Verdict.KEEP for other in bob.desk.holds.values())
