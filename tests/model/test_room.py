"""Locks that several may hold at once: readers and a writer, permits, entries that are counted, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dibs.model.asks import (
    CROWD,
    Acquire,
    Busy,
    Evict,
    Granted,
    Held,
    Hindrance,
    KeepAlive,
    Leave,
    Memo,
    Push,
    Renew,
    Said,
    StillQueued,
)
from dibs.model.lock import LockState
from dibs.model.succession import Moment
from dibs.model.table import Turn, turn_all
from dibs.model.views import view
from tests.model.tables import FENCE, NOW, TTL, Table, acquire, handed


class TestReaders:
    def test_readers_are_in_together_each_with_a_fence_of_its_own(self) -> None:
        table = Table()
        fences = [table.granted(owner, room=CROWD) for owner in ("ann", "bob", "cay")]
        assert table.inside == ["ann", "bob", "cay"]
        assert fences == [FENCE, FENCE + 1, FENCE + 2]

    def test_a_writer_waits_for_all_readers(self) -> None:
        table = Table()
        for owner in ("ann", "bob"):
            table.granted(owner, room=CROWD)
        table.queued("wim")
        table.ask(Leave("ann"))
        assert (table.inside, table.waiting, table.pushes) == (["bob"], ["wim"], ())
        table.ask(Leave("bob"))
        assert (table.inside, table.waiting) == (["wim"], [])
        assert table.pushes == (handed("wim", table.last_fence),)

    def test_a_reader_waits_for_the_writer(self) -> None:
        table = Table()
        fence = table.granted("wim")
        assert table.queued("ann", room=CROWD).held.fence == fence

    def test_a_writer_who_waits_stops_readers_who_come_later(self) -> None:
        table = Table()
        table.granted("ann", room=CROWD)
        table.queued("wim")
        assert table.queued("bob", room=CROWD).position == 1
        answer = table.ask(acquire("cay", room=CROWD, queue=False))
        assert isinstance(answer, Busy)
        assert (answer.held.who, answer.waiters) == ("ann's host", 2)
        table.ask(Leave("ann"))
        assert (table.inside, table.waiting) == (["wim"], ["bob"])

    def test_a_reader_who_holds_is_not_stopped_by_the_writer_who_waits(self) -> None:
        table = Table()
        fence = table.granted("ann", room=CROWD)
        table.queued("wim")
        assert table.granted("ann", room=CROWD) == fence
        assert table.ask(Renew("ann", fence, TTL, 2)) is Said.KEPT

    @pytest.mark.parametrize("gone", ["deaf", "dead", "left"])
    def test_a_writer_who_is_gone_stops_nobody(self, gone: str) -> None:
        table = Table()
        table.granted("ann", room=CROWD, ttl=60)
        table.queued("wim", ttl=5)
        if gone == "deaf":
            table.deaf = {"wim"}
        elif gone == "dead":
            table.now += 5
        else:
            table.ask(Leave("wim"))
        table.granted("bob", room=CROWD)
        assert table.inside == ["ann", "bob"]

    def test_a_deaf_writer_that_was_passed_over_keeps_its_place(self) -> None:
        table = Table(deaf={"wim"})
        table.granted("ann", room=CROWD)
        table.queued("wim")
        table.granted("bob", room=CROWD)
        table.deaf = set()
        table.queued("cay", room=CROWD)
        assert table.waiting == ["wim", "cay"]

    def test_all_readers_up_to_the_next_writer_get_in_by_one_turn_in_their_order(self) -> None:
        table = Table()
        table.granted("wim")
        for owner in ("ann", "bob"):
            table.queued(owner, room=CROWD)
        table.queued("wes")
        table.queued("cay", room=CROWD)
        assert table.ask(Leave("wim")) is Said.RELEASED
        assert (table.inside, table.waiting) == (["ann", "bob"], ["wes", "cay"])
        assert table.pushes == (handed("ann", FENCE + 1), handed("bob", FENCE + 2))

    def test_who_asks_and_is_served_behind_others_is_answered_and_not_pushed_to(self) -> None:
        table = Table()
        table.granted("wim", ttl=5)
        table.queued("ann", room=CROWD)
        table.now += 5
        fence = table.granted("bob", room=CROWD)
        assert table.inside == ["ann", "bob"]
        assert table.pushes == (handed("ann", fence - 1),)


class TestPermits:
    def test_so_many_get_in_and_no_more(self) -> None:
        table = Table()
        for owner in ("ann", "bob", "cay"):
            table.granted(owner, room=3)
        table.queued("dan", room=3)
        assert (table.inside, table.waiting) == (["ann", "bob", "cay"], ["dan"])

    def test_a_newcomer_who_says_that_there_are_fewer_is_believed(self) -> None:
        table = Table()
        for owner in ("ann", "bob"):
            table.granted(owner, room=3)
        table.queued("cay", room=2)
        assert table.inside == ["ann", "bob"]

    def test_a_holder_who_says_that_there_are_fewer_is_believed(self) -> None:
        table = Table()
        for owner in ("ann", "bob"):
            table.granted(owner, room=2)
        table.queued("cay", room=3)
        table.ask(Leave("bob"))
        assert table.inside == ["ann", "cay"]

    def test_who_does_not_fit_stops_those_behind_it_who_would(self) -> None:
        table = Table()
        table.granted("ann", room=3)
        table.queued("bob", room=1)
        table.queued("cay", room=3)
        assert table.inside == ["ann"]

    def test_a_permit_that_is_given_back_goes_to_the_first_who_waits(self) -> None:
        table = Table()
        for owner in ("ann", "bob"):
            table.granted(owner, room=2)
        for owner in ("cay", "dan"):
            table.queued(owner, room=2)
        assert table.ask(Leave("ann")) is Said.RELEASED
        assert (table.inside, table.waiting) == (["bob", "cay"], ["dan"])
        assert table.pushes == (handed("cay", table.last_fence),)

    def test_permits_that_ran_out_together_go_to_as_many_who_wait(self) -> None:
        table = Table()
        table.granted("ann", room=3, ttl=60)
        for owner in ("bob", "cay"):
            table.granted(owner, room=3, ttl=5)
        for owner in ("dan", "eve", "flo"):
            table.queued(owner, room=3)
        table.now += 5
        assert table.ask(Leave("gus")) is Said.GONE
        assert (table.inside, table.waiting) == (["ann", "dan", "eve"], ["flo"])

    def test_the_wait_is_for_the_first_of_the_holders_to_run_out(self) -> None:
        table = Table()
        table.granted("ann", room=2, ttl=20)
        table.granted("bob", room=2, ttl=5)
        assert table.queued("cay", room=2, ttl=9).ask_again_in == 5.0
        assert table.ask(KeepAlive("cay", 9)) == StillQueued(5.0)
        assert table.queued("dan", room=2).ask_again_in == 5.0

    def test_keeping_alive_a_grant_nobody_heard_of_prolongs_only_its_own(self) -> None:
        table = Table()
        table.granted("ann", room=2)
        fence = table.granted("bob", room=2)
        table.now += 20
        assert table.ask(KeepAlive("bob", TTL)) == Granted(fence)
        assert [holder.expires_at for holder in table.lock.holders] == [NOW + TTL, NOW + 20 + TTL]

    def test_a_repeated_ask_takes_no_second_permit(self) -> None:
        table = Table()
        fence = table.granted("ann", room=2)
        assert table.granted("ann", room=2) == fence
        assert table.inside == ["ann"]

    def test_only_the_holder_of_that_fence_is_evicted_and_told(self) -> None:
        table = Table()
        fences = [table.granted(owner, room=2) for owner in ("ann", "bob")]
        table.queued("cay", room=2)
        assert table.ask(Evict(fences[1])) is Said.EVICTED
        assert table.inside == ["ann", "cay"]
        assert table.pushes == (
            Push("bob's channel", "bob", fences[1], "evicted"),
            handed("cay", fences[1] + 2),
        )

    def test_a_fence_that_none_of_the_holders_has_evicts_nobody(self) -> None:
        table = Table()
        fences = [table.granted(owner, room=2) for owner in ("ann", "bob")]
        assert table.ask(Evict(fences[1] + 1)) is Said.CHANGED
        assert table.inside == ["ann", "bob"]

    def test_a_view_shows_all_holders_and_whether_one_of_them_is_overdue(self) -> None:
        table = Table()
        table.granted("ann", room=2)
        table.granted("bob", room=2, depth=1)
        seen = view("gpu", table.lock, NOW + 1)
        assert [held.who for held in seen.holders] == ["ann's host", "bob's host"]
        assert seen.held == seen.holders[0]
        assert seen.holders[1] == Held("bob's host", "bob's purpose", NOW, TTL, TTL - 1, FENCE + 1, 2, 1)
        assert seen.state == "held"
        table.now += 15
        table.ask(Renew("ann", FENCE, TTL))
        assert view("gpu", table.lock, NOW + 21).state == "expiring"


class TestDepth:
    def test_the_first_entry_is_counted_if_it_is_to_be(self) -> None:
        table = Table()
        table.granted("ann", depth=1)
        assert [holder.depth for holder in table.lock.holders] == [1]

    def test_a_ticket_takes_its_room_and_depth_inside(self) -> None:
        table = Table()
        table.granted("wim")
        table.ask(acquire("ann", room=4, depth=1))
        table.ask(Leave("wim"))
        assert [(holder.room, holder.depth) for holder in table.lock.holders] == [(4, 1)]

    def test_a_renewal_says_how_often_the_lock_is_entered(self) -> None:
        table = Table()
        fence = table.granted("ann", depth=1)
        assert table.ask(Renew("ann", fence, TTL, 3)) is Said.KEPT
        assert table.lock.holders[0].depth == 3

    def test_a_renewal_that_is_repeated_changes_nothing(self) -> None:
        table = Table()
        fence = table.granted("ann", depth=1)
        table.ask(Renew("ann", fence, TTL, 2))
        once = table.lock
        assert table.ask(Renew("ann", fence, TTL, 2)) is Said.KEPT
        assert table.lock == once

    def test_a_renewal_of_one_changes_nothing_of_another(self) -> None:
        table = Table()
        table.granted("ann", room=2, depth=1)
        fence = table.granted("bob", room=2, depth=1)
        [ann, _] = table.lock.holders
        table.now += 5
        table.ask(Renew("bob", fence, TTL, 2))
        assert table.lock.holders[0] == ann

    def test_an_ask_that_is_repeated_does_not_forget_the_depth(self) -> None:
        table = Table()
        fence = table.granted("ann", depth=1)
        table.ask(Renew("ann", fence, TTL, 2))
        table.granted("ann", depth=1)
        assert table.lock.holders[0].depth == 2

    def test_a_renewal_with_another_s_fence_says_nothing(self) -> None:
        table = Table()
        table.granted("ann", room=2, depth=1)
        other = table.granted("bob", room=2, depth=1)
        assert table.ask(Renew("ann", other, TTL, 2)) is Said.GONE
        assert [holder.depth for holder in table.lock.holders] == [1, 1]


class TestMemos:
    MEMO = Memo("done", NOW + 60)

    def test_who_held_the_lock_leaves_its_memo_behind(self) -> None:
        table = Table()
        table.granted("ann")
        assert table.ask(Leave("ann", memo=self.MEMO)) is Said.RELEASED
        assert table.memo == self.MEMO

    def test_who_waited_or_was_never_there_leaves_none(self) -> None:
        table = Table()
        table.granted("ann")
        table.queued("bob")
        for owner, answer in (("bob", Said.LEFT), ("cay", Said.GONE)):
            assert table.ask(Leave(owner, memo=self.MEMO)) is answer
            assert table.memo is None

    def test_who_had_lost_the_lock_leaves_none(self) -> None:
        table = Table()
        table.granted("ann", ttl=5)
        table.now += 5
        assert table.ask(Leave("ann", memo=self.MEMO)) is Said.GONE
        assert table.memo is None

    def test_a_leave_that_is_repeated_leaves_it_once(self) -> None:
        table = Table()
        table.granted("ann")
        table.ask(Leave("ann", memo=self.MEMO))
        table.ask(Leave("ann", memo=self.MEMO))
        assert table.memo is None

    def test_one_of_several_holders_may_leave_one(self) -> None:
        table = Table()
        for owner in ("ann", "bob"):
            table.granted(owner, room=2)
        table.ask(Leave("bob", memo=self.MEMO))
        assert (table.memo, table.inside) == (self.MEMO, ["ann"])


def all_done(before: Sequence[LockState], asks: Sequence[Acquire], moment: Moment) -> Sequence[Turn]:
    turns = turn_all(before, asks, moment)
    assert not isinstance(turns, Hindrance), turns
    return turns


class TestAllAtOnce:
    def test_all_are_granted_each_with_a_higher_fence(self) -> None:
        table = Table(last_fence=FENCE + 10)
        turns = all_done([LockState(), LockState()], [acquire("ann-1"), acquire("ann-2")], table.moment)
        assert [done.answer for done in turns] == [Granted(FENCE + 11), Granted(FENCE + 12)]
        assert [done.lock.holder and done.lock.holder.owner for done in turns] == ["ann-1", "ann-2"]
        assert turns[-1].last_fence == FENCE + 12

    def test_unless_all_are_free_nothing_has_happened(self) -> None:
        table = Table()
        table.granted("bob")
        hindrance = turn_all([LockState(), table.lock], [acquire("ann-1"), acquire("ann-2")], table.moment)
        assert isinstance(hindrance, Hindrance)
        assert hindrance.place == 1
        assert isinstance(hindrance.answer, Busy)
        assert hindrance.answer.held.who == "bob's host"

    def test_a_lock_that_others_wait_for_is_not_free_and_those_are_not_served_by_the_way(self) -> None:
        table = Table()
        table.granted("bob", ttl=5)
        table.queued("cay")
        table.now += 5
        hindrance = turn_all([table.lock, LockState()], [acquire("ann-1"), acquire("ann-2")], table.moment)
        assert isinstance(hindrance, Hindrance)
        assert (hindrance.place, type(hindrance.answer)) == (0, Busy)

    def test_nobody_is_left_in_a_queue(self) -> None:
        table = Table()
        table.granted("bob")
        hindrance = turn_all([table.lock], [acquire("ann", queue=True)], table.moment)
        assert isinstance(hindrance, Hindrance)
        assert isinstance(hindrance.answer, Busy)

    def test_one_that_comes_too_late_is_refused_with_all_the_others(self) -> None:
        asks = [acquire("ann-1"), acquire("ann-2", not_after=NOW - 1)]
        assert turn_all([LockState(), LockState()], asks, Table().moment) == Hindrance(1, Said.REFUSED)

    def test_asked_again_by_the_same_owners_it_gives_the_same_fences(self) -> None:
        asks, moment = [acquire("ann-1"), acquire("ann-2")], Table().moment
        once = all_done([LockState(), LockState()], asks, moment)
        later = replace(moment, now=NOW + 1, last_fence=once[-1].last_fence)
        again = all_done([done.lock for done in once], asks, later)
        assert [done.answer for done in again] == [done.answer for done in once]

    def test_a_place_among_others_can_be_one_of_them(self) -> None:
        table = Table()
        table.granted("bob", room=2)
        turns = all_done([table.lock, LockState()], [acquire("ann-1", room=2), acquire("ann-2")], table.moment)
        assert [holder.owner for holder in turns[0].lock.holders] == ["bob", "ann-1"]
