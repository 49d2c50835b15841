"""A lock of which this store has one part of several: it decides nothing alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from dibs.model.asks import CROWD, Busy, Granted, KeepAlive, Leave, Push, Queued, Said
from dibs.model.succession import Moment
from tests.model.tables import FENCE, TTL, Table, acquire


@dataclass
class Part(Table):
    """The table of one who has a vote."""

    @property
    def moment(self) -> Moment:
        return replace(super().moment, hands_over=False)

    def votes(self, owner: str, *, seen: int = 0, room: int = 1, queue: bool = True) -> object:
        return self.ask(replace(acquire(owner, room=room, depth=int(room > 1), queue=queue), seen=seen))


@pytest.fixture
def part() -> Part:
    return Part()


def woken(*owners: str) -> tuple[Push, ...]:
    return tuple(Push(f"{owner}'s channel", owner, 0, "woken") for owner in owners)


def test_who_asks_first_gets_it_and_who_comes_later_a_ticket(part: Part) -> None:
    assert part.votes("ann") == Granted(FENCE)
    assert isinstance(part.votes("bob"), Queued)
    assert isinstance(part.votes("carl", queue=False), Busy)


def test_a_release_wakes_the_first_who_waits_and_hands_nothing_over(part: Part) -> None:
    for owner in ("ann", "bob", "carl"):
        part.votes(owner)
    assert part.ask(Leave("ann")) is Said.RELEASED
    assert part.pushes == woken("bob")
    assert not part.lock.holders
    assert len(part.lock.queue) == 2


def test_one_who_does_not_listen_is_not_woken_but_the_next_is(part: Part) -> None:
    for owner in ("ann", "bob", "carl"):
        part.votes(owner)
    part.deaf = {"bob"}
    part.ask(Leave("ann"))
    assert part.pushes == woken("carl")


def test_whoever_asks_while_it_is_free_gets_it_and_the_others_keep_their_places(part: Part) -> None:
    for owner in ("ann", "bob"):
        part.votes(owner)
    part.ask(Leave("ann"))
    assert isinstance(part.votes("carl"), Granted)
    assert part.pushes == ()
    assert [ticket.owner for ticket in part.lock.queue] == ["bob"]


def test_a_fence_is_above_what_the_asker_has_seen_by_now(part: Part) -> None:
    for owner in ("ann", "bob"):
        part.votes(owner)
    part.ask(Leave("ann"))
    assert part.votes("bob", seen=FENCE + 70) == Granted(FENCE + 71)


def test_who_asks_anew_for_what_it_has_gets_a_new_fence_but_not_for_the_same_ask(part: Part) -> None:
    assert part.votes("ann", seen=FENCE + 5) == Granted(FENCE + 6)
    assert part.votes("ann", seen=FENCE + 5) == Granted(FENCE + 6)
    assert part.votes("ann", seen=FENCE + 6) == Granted(FENCE + 7)
    assert part.lock.holders[0].fence == part.last_fence == FENCE + 7


def test_what_is_taken_back_by_its_fence_is_nothing_else(part: Part) -> None:
    part.votes("ann")
    part.votes("bob")
    assert part.ask(Leave("ann", fence=FENCE + 1)) is Said.GONE
    assert part.ask(Leave("bob", fence=FENCE)) is Said.GONE
    assert len(part.lock.queue) == 1
    assert part.ask(Leave("ann", fence=FENCE)) is Said.RELEASED
    assert part.ask(Leave("ann", fence=FENCE)) is Said.GONE


def test_a_writer_who_waits_is_not_passed_by_readers(part: Part) -> None:
    assert isinstance(part.votes("ann", room=CROWD), Granted)
    assert isinstance(part.votes("bob"), Queued)
    assert isinstance(part.votes("carl", room=CROWD), Queued)
    part.deaf = {"bob"}
    assert isinstance(part.votes("dora", room=CROWD), Granted), "unless nobody would hear of it"


def test_as_many_are_woken_as_there_is_room_for(part: Part) -> None:
    part.votes("ann")
    for owner in ("bob", "carl", "dora"):
        part.votes(owner, room=2)
    part.ask(Leave("ann"))
    assert part.pushes == woken("bob", "carl")


def test_one_for_whom_there_is_no_room_stays_in_line(part: Part) -> None:
    part.votes("ann", room=2)
    part.votes("bob", room=2)
    assert isinstance(part.votes("carl", room=2), Queued)
    assert isinstance(part.votes("carl", room=2), Queued)


def test_a_ticket_that_is_kept_alive_gets_nothing_and_is_told_that_it_is_free(part: Part) -> None:
    for owner in ("ann", "bob"):
        part.votes(owner)
    part.ask(Leave("ann"))
    assert part.ask(KeepAlive("bob", TTL)) is Said.GONE
    assert part.pushes == woken("bob")
    assert not part.lock.holders
