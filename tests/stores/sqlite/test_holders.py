"""Several holders of one lock: the first in its row, the others beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.model.asks import CROWD, Busy, Evict, Granted, Hindrance, KeepAlive, Leave, Queued, Said
from tests.stores.sqlite.turns import TTL, Turns


@pytest.fixture
def turns() -> Iterator[Turns]:
    turns = Turns()
    yield turns
    turns.db.close()


def traced(turns: Turns, owner: str, *, leaves: bool) -> list[str]:
    """What SQLite is asked in one turn, by the first words."""
    seen: list[str] = []
    turns.db.set_trace_callback(seen.append)
    if leaves:
        turns.leave(owner)
    else:
        turns.ask(owner)
    turns.db.set_trace_callback(None)
    return [" ".join(statement.split()[:3]) for statement in seen]


def test_the_first_one_leaves_and_the_next_is_first(turns: Turns) -> None:
    for owner in ("one", "two", "three"):
        turns.enter(owner, CROWD)
    assert turns.leave("one") is Said.RELEASED
    assert turns.holders() == ["two", "three"]
    assert turns.rows("holder") == 1
    waits = turns.ask("writer")
    assert isinstance(waits, Queued)
    assert waits.held.who == "two"


def test_one_in_the_middle_leaves_and_the_others_stay_in_order(turns: Turns) -> None:
    for owner in ("one", "two", "three"):
        turns.enter(owner, CROWD)
    assert turns.leave("two") is Said.RELEASED
    assert turns.leave("two") is Said.GONE
    assert turns.holders() == ["one", "three"]


def test_nothing_is_left_when_all_have_left(turns: Turns) -> None:
    for owner in ("one", "two", "three"):
        turns.enter(owner, 3)
    for owner in ("two", "one", "three"):
        turns.leave(owner)
    assert (turns.rows("lock"), turns.rows("holder")) == (0, 0)


def test_each_lease_runs_out_by_itself(turns: Turns) -> None:
    turns.enter("one", 3, ttl=20)
    turns.enter("two", 3, ttl=10)
    fence = turns.enter("three", 3, ttl=10)
    assert isinstance(turns.ask("four", 3, queue=False), Busy)
    turns.now += 5
    assert turns.renew("three", fence) is Said.KEPT
    turns.now += 5
    turns.enter("four", 3)
    assert turns.holders() == ["one", "three", "four"]


def test_the_first_lease_runs_out_and_the_next_is_first(turns: Turns) -> None:
    turns.enter("one", 3, ttl=5)
    turns.enter("two", 3, ttl=5)
    turns.enter("three", 3)
    turns.now += 5
    turns.enter("four", 3)
    assert turns.holders() == ["three", "four"]
    assert turns.rows("holder") == 1


def test_a_lease_that_is_made_shorter_ends_sooner(turns: Turns) -> None:
    turns.enter("one", 2, ttl=60)
    fence = turns.enter("two", 2, ttl=60)
    assert turns.renew("two", fence, ttl=1) is Said.KEPT
    turns.now += 1
    turns.enter("three", 2)
    assert turns.holders() == ["one", "three"]


def test_a_lock_has_room_again_when_the_one_who_allowed_the_fewest_has_left(turns: Turns) -> None:
    turns.enter("one", 3)
    turns.enter("two", 2)
    assert isinstance(turns.ask("three", 3, queue=False), Busy)
    assert turns.leave("two") is Said.RELEASED
    turns.enter("three", 3)
    turns.enter("four", 3)
    assert turns.holders() == ["one", "three", "four"]


def test_the_room_that_one_allowed_counts_no_more_when_it_has_left_a_crowd(turns: Turns) -> None:
    turns.enter("one", 5)
    turns.enter("tight", 3)
    turns.enter("three", 5)
    assert isinstance(turns.ask("four", 5, queue=False), Busy)
    turns.leave("tight")
    turns.enter("four", 5)
    turns.enter("five", 5)
    assert turns.holders() == ["one", "three", "four", "five"]


def test_whoever_waits_is_let_in_by_the_room_of_those_who_are_left(turns: Turns) -> None:
    turns.enter("one", 5)
    turns.enter("two", 2)
    turns.ask("three", 5)
    turns.ask("four", 5)
    assert turns.leave("two") is Said.RELEASED
    assert [(push.owner, push.kind) for push in turns.pushes] == [("three", "handed"), ("four", "handed")]
    assert turns.holders() == ["one", "three", "four"]


def test_serving_stops_at_the_first_who_does_not_fit_and_passes_over_who_does_not_listen(turns: Turns) -> None:
    turns.enter("writer")
    for owner, room in (("one", CROWD), ("away", 1), ("two", CROWD), ("next writer", 1), ("three", CROWD)):
        turns.ask(owner, room)
    turns.deaf = {"away's channel"}
    turns.leave("writer")
    assert [push.owner for push in turns.pushes] == ["one", "two"]
    assert turns.holders() == ["one", "two"]
    assert [waiter.who for waiter in turns.execute("inspect", "a").waiters] == ["away", "next writer", "three"]


def test_whoever_comes_behind_one_who_waits_in_vain_waits_too(turns: Turns) -> None:
    turns.enter("reader", CROWD)
    turns.ask("writer")
    late = turns.ask("late reader", CROWD)
    assert isinstance(late, Queued)
    assert late.position == 1
    assert isinstance(turns.ask("one who does not wait", CROWD, queue=False), Busy)
    assert turns.rows("queue") == 2


def test_a_waiter_is_told_to_ask_when_the_first_of_all_leases_ends(turns: Turns) -> None:
    turns.enter("one", CROWD, ttl=30)
    turns.enter("two", CROWD, ttl=5)
    turns.enter("three", CROWD, ttl=20)
    waits = turns.ask("writer")
    assert isinstance(waits, Queued)
    assert waits.ask_again_in == pytest.approx(5)
    turns.leave("two")
    kept = turns.execute("ask", "a", KeepAlive("writer", TTL))
    assert kept.ask_again_in == pytest.approx(10)


def test_any_of_them_can_be_evicted_by_its_fence(turns: Turns) -> None:
    turns.enter("one", 2)
    fence = turns.enter("two", 2)
    turns.ask("three", 2)
    assert turns.execute("ask", "a", Evict(fence + 1)) is Said.CHANGED
    assert turns.execute("ask", "a", Evict(fence)) is Said.EVICTED
    assert [(push.owner, push.kind) for push in turns.pushes] == [("two", "evicted"), ("three", "handed")]
    assert turns.pushes[1].fence > fence + 1
    assert turns.holders() == ["one", "three"]


def test_whoever_holds_it_already_gets_the_same_fence_and_a_whole_ttl(turns: Turns) -> None:
    turns.enter("one", 3)
    fence = turns.enter("two", 3)
    turns.now += 9
    assert turns.ask("two", 3) == Granted(fence)
    assert turns.execute("ask", "a", KeepAlive("one", TTL)) is not Said.GONE
    turns.now += 9
    assert turns.holders() == ["one", "two"]


def test_a_renewal_says_how_deep_its_owner_is(turns: Turns) -> None:
    first, second = turns.enter("one", 2), turns.enter("two", 2)
    turns.renew("one", first, depth=2)
    turns.renew("two", second, depth=3)
    assert [held.depth for held in turns.execute("inspect", "a").holders] == [2, 3]
    assert turns.renew("two", first) is Said.GONE


def test_several_locks_are_taken_together_or_not_at_all(turns: Turns) -> None:
    turns.execute("ask", "b", turns.wish("somebody"))
    turns.enter("dying", ttl=1)
    turns.ask("waiter", ttl=TTL)
    turns.now += 1  # the waiter is served in the same turn, which must be taken back, too
    asks = [("c", turns.wish("mine")), ("a", turns.wish("mine")), ("b", turns.wish("mine"))]
    hindrance = turns.execute("all", asks)
    assert isinstance(hindrance, Hindrance)
    assert isinstance(hindrance.answer, Busy)
    assert hindrance.place == 1
    assert hindrance.answer.held.who == "waiter"
    assert not turns.pushes
    assert turns.holders("c") == []
    turns.leave("waiter")
    turns.leave("dying")
    hindrance = turns.execute("all", asks)
    assert isinstance(hindrance, Hindrance)
    assert isinstance(hindrance.answer, Busy)
    assert hindrance.place == 2
    assert hindrance.answer.held.who == "somebody"
    assert turns.holders("a") == []
    turns.execute("ask", "b", Leave("somebody"))
    granted = turns.execute("all", asks)
    assert [type(answer) for answer in granted] == [Granted] * 3
    assert len({answer.fence for answer in granted}) == 3
    assert turns.holders("a") == turns.holders("b") == turns.holders("c") == ["mine"]


def test_a_mutex_is_taken_and_given_back_in_as_few_statements_as_ever(turns: Turns) -> None:
    taken = traced(turns, "one", leaves=False)
    assert taken == ["BEGIN IMMEDIATE", "SELECT store.format =", "INSERT OR REPLACE", "UPDATE state SET", "COMMIT"]
    assert traced(turns, "one", leaves=True) == [
        "BEGIN IMMEDIATE",
        "SELECT store.format =",
        "DELETE FROM state",
        "COMMIT",
    ]


def test_a_mutex_is_handed_over_in_as_few_statements_as_ever(turns: Turns) -> None:
    turns.enter("one")
    turns.ask("two")
    handed = traced(turns, "one", leaves=True)
    assert handed == [
        "BEGIN IMMEDIATE",
        "SELECT store.format =",
        "INSERT OR REPLACE",
        "UPDATE state SET",
        "COMMIT",
    ]
