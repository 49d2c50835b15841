"""A ticket that was served is noted as such, and thrown away by one who writes on its page anyway: nobody sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.model.asks import CROWD, Busy, KeepAlive, Queued, Said
from dibs.stores.sqlite import server
from dibs.stores.sqlite.row import MOST_SERVED
from dibs.stores.sqlite.schema import sweep
from tests.stores.sqlite.turns import TTL, Turns


@pytest.fixture
def turns() -> Iterator[Turns]:
    turns = Turns()
    yield turns
    turns.db.close()


@pytest.fixture
def served(turns: Turns) -> Turns:
    """Of four who came, the first has left; so the second has the lock, and two wait."""
    turns.enter("one")
    for owner in ("two", "three", "four"):
        turns.ask(owner)
    turns.leave("one")
    assert turns.rows("queue") == 3
    return turns


def queue(turns: Turns) -> list[str]:
    return [waiter.who for waiter in turns.execute("inspect", "a").waiters]


def keep_alive(turns: Turns, owner: str) -> object:
    return turns.execute("ask", "a", KeepAlive(owner, TTL))


def test_nobody_sees_it(served: Turns) -> None:
    assert (served.holders(), queue(served)) == (["two"], ["three", "four"])


def test_it_stands_ahead_of_nobody(served: Turns) -> None:
    asked_again = served.ask("four")
    assert isinstance(asked_again, Queued)
    assert (asked_again.position, served.rows("queue")) == (1, 3)


def test_whoever_comes_next_throws_it_away(served: Turns) -> None:
    last = served.ask("five")
    assert isinstance(last, Queued)
    assert (last.position, queue(served)) == (2, ["three", "four", "five"])
    assert served.rows("queue") == 3
    assert served.db.execute("SELECT served FROM lock").fetchone() == (0,)


def test_it_is_gone_when_the_lock_is(served: Turns) -> None:
    for owner in ("two", "three", "four"):
        assert served.leave(owner) is Said.RELEASED
    assert (served.rows("queue"), served.rows("lock")) == (0, 0)


def test_whoever_had_it_is_not_found_waiting_when_its_lease_is_over(served: Turns) -> None:
    served.leave("two")
    assert keep_alive(served, "two") is Said.GONE
    assert served.leave("two") is Said.GONE
    assert (served.holders(), queue(served)) == (["three"], ["four"])


def test_whoever_had_it_stands_at_the_end_when_it_comes_again(served: Turns) -> None:
    served.leave("two")
    again = served.ask("two")
    assert isinstance(again, Queued)
    assert (again.position, queue(served)) == (1, ["four", "two"])


def test_whoever_had_it_is_refused_as_all_others_where_too_many_wait(
    served: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.leave("two")
    monkeypatch.setattr(server, "MOST_WAITERS", 1)
    assert isinstance(served.ask("two"), Busy)
    assert isinstance(served.ask("five"), Busy)
    assert queue(served) == ["four"]


def test_it_does_not_keep_a_lock_in_the_list_that_has_run_out(turns: Turns) -> None:
    turns.enter("one")
    turns.ask("two", ttl=60)
    turns.leave("one")
    turns.renew("two", turns.pushes[0].fence, ttl=1)
    turns.now += 2
    assert turns.rows("queue") == 1
    assert turns.execute("held", "", 10) == []
    assert turns.execute("inspect", "a").waiters == ()
    sweep(turns.db, now=turns.now, wall=turns.wall)
    assert (turns.rows("queue"), turns.rows("lock")) == (0, 0)


def test_others_who_run_out_are_counted_without_it(turns: Turns) -> None:
    turns.enter("one", ttl=60)
    for owner, ttl in (("two", 60), ("three", 1), ("four", 60)):
        turns.ask(owner, ttl=ttl)
    turns.leave("one")
    turns.now += 2
    assert turns.leave("two") is Said.RELEASED
    assert [push.owner for push in turns.pushes] == ["four"]
    assert (turns.holders(), queue(turns)) == (["four"], [])
    turns.leave("four")
    assert turns.rows("lock") == 0


def test_one_who_is_served_before_the_first_is_out_of_the_queue_and_the_first_stays(turns: Turns) -> None:
    turns.enter("one")
    for owner in ("away", "two", "three"):
        turns.ask(owner)
    turns.deaf = {"away's channel"}
    turns.leave("one")
    assert (turns.holders(), queue(turns), turns.rows("queue")) == (["two"], ["away", "three"], 2)
    turns.deaf = set()
    turns.leave("two")
    assert (turns.holders(), queue(turns), turns.rows("queue")) == (["away"], ["three"], 2)


def test_several_are_served_in_one_turn(turns: Turns) -> None:
    turns.enter("writer")
    for owner, room in (("one", CROWD), ("two", CROWD), ("next writer", 1)):
        turns.ask(owner, room)
    turns.leave("writer")
    assert (turns.holders(), queue(turns)) == (["one", "two"], ["next writer"])
    for owner in ("one", "two"):
        turns.leave(owner)
    assert (turns.holders(), queue(turns)) == (["next writer"], [])


def test_they_do_not_pile_up_when_nobody_comes(turns: Turns) -> None:
    turns.enter("0")
    people = 3 * MOST_SERVED
    for number in range(1, people):
        turns.ask(f"{number}")
    for number in range(people - 1):
        turns.leave(f"{number}")
        assert turns.holders() == [f"{number + 1}"]
        assert turns.rows("queue") <= people - number - 2 + MOST_SERVED
    turns.leave(f"{people - 1}")
    assert (turns.rows("queue"), turns.rows("lock")) == (0, 0)


def test_what_was_served_is_still_waiting_when_the_turn_is_taken_back(served: Turns) -> None:
    served.now += TTL - 1
    for owner in ("three", "four"):
        keep_alive(served, owner)
    served.now += 1  # the lease has run out: within the turn the third gets the lock, and then the turn is undone
    served.execute("all", [("b", served.wish("me")), ("a", served.wish("me"))])
    assert served.pushes == []
    assert served.leave("two") is Said.GONE
    assert [(push.owner, push.kind) for push in served.pushes] == [("three", "handed")]
    assert (served.holders(), queue(served)) == (["three"], ["four"])
