"""The transition table, cell by cell, for a lock that one alone holds."""

from __future__ import annotations

from dataclasses import replace

from dibs.model.asks import Busy, Evict, Granted, Held, KeepAlive, Leave, Push, Queued, Renew, Said, StillQueued
from dibs.model.lock import Holder, LockState, Ticket
from dibs.model.table import MOST_WAITERS
from tests.model.tables import FENCE, NOW, TTL, Table, acquire, handed


class TestAcquire:
    def test_a_free_lock_is_granted_at_once(self) -> None:
        table = Table()
        assert table.ask(acquire("ann")) == Granted(FENCE)
        told = ("ann's channel", "ann's host", "ann's purpose")
        assert table.lock == LockState((Holder("ann", FENCE, TTL, NOW, NOW + TTL, *told),))
        assert table.last_fence == FENCE

    def test_who_is_answered_is_not_pushed_to_as_well(self) -> None:
        table = Table()
        table.granted("ann")
        assert table.pushes == ()

    def test_a_held_lock_refuses_a_second_owner(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.now += 10
        shown = Held("ann's host", "ann's purpose", NOW, TTL, 20.0, fence)
        assert table.ask(acquire("bob")) == Queued(0, 20.0, shown)
        assert (table.holder, table.waiting) == ("ann", ["bob"])

    def test_who_does_not_wait_is_told_that_it_is_busy_and_leaves_no_ticket(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.queued("bob")
        busy = Busy(Held("ann's host", "ann's purpose", NOW, TTL, TTL, fence), waiters=1)
        assert table.ask(acquire("cay", queue=False)) == busy
        assert table.waiting == ["bob"]

    def test_who_has_a_ticket_and_stops_waiting_loses_it(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob")
        answer = table.ask(acquire("bob", queue=False))
        assert isinstance(answer, Busy)
        assert (answer.waiters, table.waiting) == (0, [])

    def test_who_does_not_wait_gets_a_free_lock(self) -> None:
        assert isinstance(Table().ask(acquire("ann", queue=False)), Granted)

    def test_who_does_not_wait_does_not_barge_either(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        answer = table.ask(acquire("cay", queue=False))
        assert isinstance(answer, Busy)
        assert (answer.held.who, answer.waiters, table.holder, table.waiting) == ("bob's host", 0, "bob", [])

    def test_a_repeated_ask_keeps_the_fence_and_resets_the_ttl(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.now += 20
        assert table.granted("ann") == fence
        assert table.lock.holder is not None
        assert (table.lock.holder.since, table.lock.holder.expires_at) == (NOW, NOW + 20 + TTL)
        assert table.last_fence == fence

    def test_a_repeated_ask_in_the_queue_keeps_its_place_and_resets_the_ticket(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob", ttl=25)
        table.queued("cay", ttl=25)
        table.now += 20
        assert table.queued("bob", ttl=25).position == 0
        table.now += 9.5
        assert table.lock.at(table.now).ticket("bob") is not None
        assert table.lock.at(table.now).ticket("cay") is None

    def test_waiters_stand_in_the_order_of_their_asks(self) -> None:
        table = Table()
        table.granted("ann")
        assert [table.queued(owner).position for owner in ("bob", "cay", "dan")] == [0, 1, 2]

    def test_a_lock_that_has_run_out_goes_to_the_first_waiter_and_not_to_the_asker(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        queued = table.queued("cay")
        assert (table.holder, table.waiting) == ("bob", ["cay"])
        assert queued.held.who == "bob's host"
        assert table.pushes == (handed("bob", queued.held.fence),)

    def test_a_lease_is_over_the_moment_its_ttl_is(self) -> None:
        table = Table()
        first = table.granted("ann", ttl=5)
        table.now += 4.999
        assert table.queued("bob").held.fence == first
        table.now = NOW + 5
        assert table.granted("bob") > first

    def test_a_waiter_that_asks_again_when_all_ahead_are_dead_gets_the_lock(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob", ttl=5)
        table.queued("cay", ttl=20)
        table.now += 5
        table.granted("cay", ttl=20)
        assert table.waiting == []

    def test_the_queue_is_bounded(self) -> None:
        table = Table()
        table.granted("ann")
        first = Ticket("bob", TTL, NOW + TTL, "bob's channel", "bob's host", "", 0, NOW)
        crowd = tuple(replace(first, owner=f"bob-{number}") for number in range(MOST_WAITERS))
        table.lock = replace(table.lock, queue=crowd[:-1])
        assert table.queued("cay").position == MOST_WAITERS - 1
        answer = table.ask(acquire("dan"))
        assert isinstance(answer, Busy)
        assert answer.waiters == MOST_WAITERS == len(table.lock.queue)
        assert table.queued("cay").position == MOST_WAITERS - 1, "who stands in it already may ask again"

    def test_a_free_lock_with_a_full_queue_of_deaf_waiters_refuses_the_asker(self) -> None:
        first = Ticket("bob", TTL, NOW + TTL, "bob's channel", "bob's host", "", 0, NOW)
        crowd = tuple(replace(first, owner=f"bob-{number}") for number in range(MOST_WAITERS))
        table = Table(LockState(queue=crowd), deaf={"bob"})
        assert table.ask(acquire("ann")) is Said.REFUSED
        assert (table.holder, len(table.lock.queue)) == (None, MOST_WAITERS)

    def test_a_ticket_remembers_the_highest_fence_its_owner_has_seen(self) -> None:
        table = Table()
        table.granted("ann")
        seen = FENCE * 10
        table.ask(replace(acquire("bob"), seen=seen))
        table.ask(Leave("ann"))
        assert table.last_fence == seen + 1


class TestBarred:
    def test_an_ask_that_lands_after_its_time_is_refused(self) -> None:
        table = Table()
        assert table.ask(acquire("ann", not_after=NOW - 0.001)) is Said.REFUSED
        assert table.lock.is_blank

    def test_an_ask_that_lands_just_in_time_is_granted(self) -> None:
        assert isinstance(Table().ask(acquire("ann", not_after=NOW)), Granted)

    def test_an_ask_that_lands_after_its_owner_left_is_refused(self) -> None:
        table = Table()
        assert table.ask(Leave("ann", bar_until=NOW + 2)) is Said.GONE
        table.now += 2
        assert table.ask(acquire("ann", not_after=NOW + 2)) is Said.REFUSED
        assert table.holder is None

    def test_a_holder_that_left_cannot_come_back_by_a_late_ask(self) -> None:
        table = Table()
        table.granted("ann")
        assert table.ask(Leave("ann", bar_until=NOW + 2)) is Said.RELEASED
        assert table.ask(acquire("ann", not_after=NOW + 2)) is Said.REFUSED
        assert table.holder is None

    def test_a_waiter_that_left_cannot_come_back_by_a_late_ask(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob")
        assert table.ask(Leave("bob", bar_until=NOW + 2)) is Said.LEFT
        assert table.ask(acquire("bob", not_after=NOW + 2)) is Said.REFUSED
        assert table.waiting == []

    def test_the_holder_too_is_refused_after_its_time_and_keeps_what_it_has(self) -> None:
        table = Table()
        table.granted("ann")
        before = table.lock
        assert table.ask(acquire("ann", not_after=NOW - 1)) is Said.REFUSED
        assert table.lock == before

    def test_a_bar_is_for_one_owner_only(self) -> None:
        table = Table()
        table.ask(Leave("ann", bar_until=NOW + 2))
        table.granted("bob")

    def test_a_bar_is_forgotten_when_nothing_late_can_land_any_more(self) -> None:
        table = Table()
        table.ask(Leave("ann", bar_until=NOW + 2))
        table.ask(Leave("bob", bar_until=NOW + 9))
        assert not table.lock.is_blank
        table.now += 2.001
        table.ask(Evict(1))
        assert table.lock.barred == {"bob": NOW + 9}

    def test_a_bar_that_is_over_already_is_not_kept(self) -> None:
        table = Table()
        table.ask(Leave("ann", bar_until=NOW - 0.001))
        assert table.lock.is_blank

    def test_a_refused_ask_still_finds_a_lock_that_ran_out_and_serves_the_queue(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        assert table.ask(acquire("cay", not_after=NOW)) is Said.REFUSED
        assert table.holder == "bob"
        assert table.pushes == (handed("bob", table.last_fence),)


class TestKeepAlive:
    def test_it_refreshes_a_ticket_and_tells_when_to_ask_again(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob")
        table.now += 20
        assert table.ask(KeepAlive("bob", TTL)) == StillQueued(10.0)
        ticket = table.lock.ticket("bob")
        assert ticket is not None
        assert (ticket.since, ticket.expires_at) == (NOW, NOW + 20 + TTL)

    def test_it_never_creates_a_ticket(self) -> None:
        table = Table()
        table.granted("ann")
        assert table.ask(KeepAlive("bob", TTL)) is Said.GONE
        assert table.waiting == []

    def test_it_never_takes_a_free_lock_without_a_ticket(self) -> None:
        table = Table()
        assert table.ask(KeepAlive("bob", TTL)) is Said.GONE
        assert table.lock.is_blank

    def test_the_first_waiter_gets_a_lock_that_ran_out(self) -> None:
        table = Table(deaf={"bob"})
        first = table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        answer = table.ask(KeepAlive("bob", TTL))
        assert isinstance(answer, Granted)
        assert answer.fence > first
        assert (table.holder, table.waiting, table.pushes) == ("bob", [], ())

    def test_a_later_waiter_finds_the_lock_handed_to_the_first(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob")
        table.queued("cay")
        table.now += 5
        assert table.ask(KeepAlive("cay", TTL)) == StillQueued(TTL)
        assert table.holder == "bob"
        assert table.pushes == (handed("bob", table.last_fence),)

    def test_one_that_is_gone_still_serves_the_others(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        assert table.ask(KeepAlive("cay", TTL)) is Said.GONE
        assert table.holder == "bob"

    def test_one_whose_grant_it_has_not_heard_of_is_told_and_prolonged(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.now += 20
        assert table.ask(KeepAlive("ann", TTL)) == Granted(fence)
        assert table.lock.holder is not None
        assert table.lock.holder.expires_at == NOW + 20 + TTL


class TestRenew:
    def test_it_prolongs_the_lease(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.now += 20
        assert table.ask(Renew("ann", fence, 12)) is Said.KEPT
        assert table.lock.holder is not None
        assert table.lock.holder.expires_at == NOW + 32

    def test_it_never_takes_a_free_lock(self) -> None:
        table = Table()
        fence = table.granted("ann", ttl=5)
        table.now += 5
        assert table.ask(Renew("ann", fence, TTL)) is Said.GONE
        assert table.lock.is_blank

    def test_it_never_touches_the_lease_of_another(self) -> None:
        table = Table()
        fence = table.granted("ann")
        before = table.lock
        assert table.ask(Renew("bob", fence, TTL)) is Said.GONE
        assert table.lock == before

    def test_it_never_touches_a_newer_grant_of_the_same_owner(self) -> None:
        table = Table()
        fence = table.granted("ann")
        before = table.lock
        assert table.ask(Renew("ann", fence - 1, TTL)) is Said.GONE
        assert table.lock == before

    def test_one_that_comes_too_late_serves_the_queue(self) -> None:
        table = Table()
        fence = table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        assert table.ask(Renew("ann", fence, 5)) is Said.GONE
        assert table.holder == "bob"


class TestLeave:
    def test_a_release_hands_the_lock_to_the_first_waiter(self) -> None:
        table = Table()
        first = table.granted("ann")
        table.queued("bob", ttl=7)
        table.queued("cay")
        table.now += 1
        assert table.ask(Leave("ann")) is Said.RELEASED
        fence = table.last_fence
        assert fence > first
        assert table.pushes == (handed("bob", fence),)
        assert table.lock.holder == Holder(
            "bob", fence, 7, table.now, table.now + 7, "bob's channel", "bob's host", "bob's purpose"
        )
        assert table.waiting == ["cay"]

    def test_a_release_with_nobody_waiting_leaves_nothing_behind(self) -> None:
        table = Table()
        table.granted("ann")
        assert table.ask(Leave("ann")) is Said.RELEASED
        assert table.lock.is_blank
        assert table.pushes == ()

    def test_a_release_passes_over_tickets_nobody_listens_for(self) -> None:
        table = Table(deaf={"bob"})
        table.granted("ann")
        table.queued("bob")
        table.queued("cay")
        table.ask(Leave("ann"))
        assert (table.holder, table.waiting) == ("cay", ["bob"])

    def test_a_ticket_that_was_passed_over_keeps_its_place(self) -> None:
        table = Table(deaf={"bob"})
        table.granted("ann")
        for owner in ("bob", "cay", "dan"):
            table.queued(owner)
        table.ask(Leave("ann"))
        table.deaf.clear()
        table.ask(Leave("cay"))
        assert (table.holder, table.waiting) == ("bob", ["dan"])

    def test_a_lock_that_nobody_hears_of_stays_free_for_the_next_who_asks(self) -> None:
        table = Table(deaf={"bob"})
        table.granted("ann")
        table.queued("bob")
        assert table.ask(Leave("ann")) is Said.RELEASED
        assert (table.holder, table.waiting, table.pushes) == (None, ["bob"], ())
        table.granted("bob")
        assert table.waiting == []

    def test_a_waiter_leaves_the_queue(self) -> None:
        table = Table()
        table.granted("ann")
        for owner in ("bob", "cay"):
            table.queued(owner)
        assert table.ask(Leave("bob")) is Said.LEFT
        assert (table.holder, table.waiting) == ("ann", ["cay"])

    def test_a_waiter_that_leaves_a_free_lock_serves_the_others(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        for owner in ("bob", "cay"):
            table.queued(owner)
        table.now += 5
        assert table.ask(Leave("bob")) is Said.LEFT
        assert (table.holder, table.waiting) == ("cay", [])

    def test_a_stranger_leaves_nothing_and_is_told_so(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob")
        before = table.lock
        assert table.ask(Leave("cay")) is Said.GONE
        assert table.lock == before

    def test_leaving_twice_does_no_harm(self) -> None:
        table = Table()
        table.granted("ann")
        table.ask(Leave("ann"))
        table.granted("bob")
        assert table.ask(Leave("ann")) is Said.GONE
        assert table.holder == "bob"


class TestEvict:
    def test_it_takes_the_lock_from_the_holder_it_saw_and_tells_it(self) -> None:
        table = Table()
        fence = table.granted("ann")
        assert table.ask(Evict(fence)) is Said.EVICTED
        assert table.lock.is_blank
        assert table.pushes == (Push("ann's channel", "ann", fence, "evicted"),)

    def test_it_raises_the_counter_so_that_the_evicted_fence_is_old_at_once(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.ask(Evict(fence))
        assert table.last_fence == fence + 1

    def test_it_hands_the_lock_to_the_first_waiter(self) -> None:
        table = Table()
        fence = table.granted("ann")
        table.queued("bob")
        assert table.ask(Evict(fence)) is Said.EVICTED
        assert table.pushes == (Push("ann's channel", "ann", fence, "evicted"), handed("bob", fence + 2))
        assert (table.holder, table.last_fence) == ("bob", fence + 2)

    def test_a_lock_that_changed_hands_is_not_taken(self) -> None:
        table = Table()
        fence = table.granted("ann")
        before = table.lock
        assert table.ask(Evict(fence - 1)) is Said.CHANGED
        assert (table.lock, table.last_fence, table.pushes) == (before, fence, ())

    def test_a_free_lock_cannot_be_taken_from_anybody(self) -> None:
        assert Table().ask(Evict(1)) is Said.GONE

    def test_a_lock_that_ran_out_is_served_instead(self) -> None:
        table = Table()
        fence = table.granted("ann", ttl=5)
        table.queued("bob")
        table.now += 5
        assert table.ask(Evict(fence)) is Said.GONE
        assert table.holder == "bob"


class TestAskAgainIn:
    def test_the_first_waiter_asks_again_when_the_holder_would_run_out(self) -> None:
        table = Table()
        table.granted("ann", ttl=30)
        table.now += 10
        assert table.queued("bob", ttl=3).ask_again_in == 20.0

    def test_a_later_waiter_asks_again_after_the_shortest_ttl_ahead_of_it(self) -> None:
        table = Table()
        table.granted("ann", ttl=30)
        table.queued("bob", ttl=9)
        table.queued("cay", ttl=7)
        table.queued("dan", ttl=8)
        assert table.queued("eve", ttl=2).ask_again_in == 7.0

    def test_a_later_waiter_asks_again_when_the_holder_runs_out_if_that_is_sooner(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob", ttl=9)
        assert table.queued("cay", ttl=2).ask_again_in == 5.0

    def test_those_behind_do_not_matter(self) -> None:
        table = Table()
        table.granted("ann", ttl=30)
        table.queued("bob")
        table.queued("cay", ttl=2)
        assert table.queued("bob").ask_again_in == 30.0


class TestExpiry:
    def test_a_state_in_which_nothing_has_expired_is_the_same_object(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob")
        table.ask(Leave("cay", bar_until=NOW + 1))
        assert table.lock.at(NOW + 1) is table.lock

    def test_a_ticket_expires_with_its_ttl(self) -> None:
        table = Table()
        table.granted("ann", ttl=30)
        table.queued("bob", ttl=5)
        assert table.lock.at(NOW + 4.999).ticket("bob") is not None
        assert table.lock.at(NOW + 5).ticket("bob") is None

    def test_nothing_is_left_of_the_dead(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.queued("bob", ttl=5)
        table.ask(Leave("cay", bar_until=NOW + 5))
        assert table.lock.at(NOW + 5.001).is_blank

    def test_a_queue_or_a_bar_alone_is_worth_remembering(self) -> None:
        ticket = Ticket("bob", TTL, NOW + TTL, "", "", "", 0, NOW)
        assert not LockState(queue=(ticket,)).is_blank
        assert not LockState(barred={"ann": NOW}).is_blank
        assert LockState().is_blank
