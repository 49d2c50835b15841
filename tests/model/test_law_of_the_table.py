"""Whatever is asked of a lock, by whoever, with whatever room: what the table promises holds."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.model.asks import CROWD, Acquire, Ask, Evict, Granted, KeepAlive, Leave, Renew, Said
from dibs.model.lock import Holder, LockState, Ticket
from dibs.model.table import Turn, turn
from tests.model.tables import Table, acquire

TTL_OF = {"ann": 1.0, "bob": 3.0, "cay": 10.0, "dan": 1.0, "eve": 3.0}
"""An owner says the same in all its asks (decision 6), but that a renewal may ask for less."""
OWNERS = st.sampled_from(list(TTL_OF))
TTLS = st.sampled_from([1.0, 3.0, 10.0])
ROOMS = st.sampled_from([1, 2, 3, CROWD])
"""Alone, with permits of which two programs say different things, or along with all."""

Told = Callable[[Table], Ask]
"""An ask that depends on how things stand."""


def _acquire(*, owner: str, late: float, queue: bool, room: int, depth: int) -> Told:
    ttl = TTL_OF[owner]
    return lambda table: acquire(owner, ttl=ttl, not_after=table.now + late, queue=queue, room=room, depth=depth)


def _renew(*, owner: str, off: int, ttl: float, depth: int) -> Told:
    def ask(table: Table) -> Ask:
        mine = table.lock.held_by(owner)
        return Renew(owner, (mine.fence if mine else 7) + off, ttl, depth)

    return ask


def _leave(*, owner: str, bar: float | None) -> Told:
    return lambda table: Leave(owner, None if bar is None else table.now + bar)


def _evict(*, which: int, off: int) -> Told:
    def ask(table: Table) -> Ask:
        holders = table.lock.holders
        return Evict((holders[which % len(holders)].fence if holders else 7) + off)

    return ask


def _keep_alive(*, owner: str) -> Told:
    return lambda _: KeepAlive(owner, TTL_OF[owner])


LATE = st.sampled_from([-1.0, 0.0, 2.0])
DEPTHS = st.sampled_from([0, 1, 2])
ASKS: st.SearchStrategy[Told] = st.one_of(
    st.builds(_acquire, owner=OWNERS, late=LATE, queue=st.booleans(), room=ROOMS, depth=DEPTHS),
    st.builds(_keep_alive, owner=OWNERS),
    st.builds(_renew, owner=OWNERS, off=st.sampled_from([0, 0, -1]), ttl=TTLS, depth=DEPTHS),
    st.builds(_leave, owner=OWNERS, bar=st.sampled_from([None, 0.0, 2.0])),
    st.builds(_evict, which=st.integers(0, 4), off=st.sampled_from([0, 0, 1])),
)
STORIES = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 2.0]), ASKS, st.sets(OWNERS, max_size=2)), max_size=40)


@settings(deadline=None, max_examples=300)
@given(STORIES)
def test_whatever_is_asked_the_table_keeps_its_promises(story: list[tuple[float, Told, set[str]]]) -> None:
    table = Table()
    for passed, ask, deaf in story:
        table.now, table.deaf = table.now + passed, deaf
        before, asked = table.lock.at(table.now), ask(table)
        done = turn(table.lock, asked, table.moment)
        _one_owner_has_one_place(done.lock)
        _nobody_is_in_who_does_not_fit(done.lock)
        _grants_carry_higher_fences(before, done, table)
        _nobody_barges_and_no_room_is_wasted(before, asked, done, table)
        _depth_is_what_its_owner_said_last(before, asked, done)
        _asking_again_changes_nothing(asked, done, table)
        table.lock, table.last_fence = done.lock, done.last_fence


def _one_owner_has_one_place(lock: LockState) -> None:
    places = [ticket.owner for ticket in lock.queue] + [holder.owner for holder in lock.holders]
    assert len(places) == len(set(places))


def _nobody_is_in_who_does_not_fit(lock: LockState) -> None:
    assert all(len(lock.holders) <= holder.room for holder in lock.holders)


def _grants_carry_higher_fences(before: LockState, done: Turn, table: Table) -> None:
    fences = [holder.fence for holder in _new(before, done.lock)]
    assert fences == sorted(set(fences))
    assert all(fence > table.last_fence for fence in fences)
    assert done.last_fence >= max([table.last_fence, *fences])


def _nobody_barges_and_no_room_is_wasted(before: LockState, asked: Ask, done: Turn, table: Table) -> None:
    """Who gets in are the first live ones of the queue, in their order, and as many of them as there is room for."""
    line = _line(before, asked, done, table)
    new = [holder.owner for holder in _new(before, done.lock)]
    assert new == [ticket.owner for ticket in line[: len(new)]]
    if len(line) > len(new):
        assert not done.lock.has_room(line[len(new)].room)


def _line(before: LockState, asked: Ask, done: Turn, table: Table) -> list[Ticket]:
    """All who could be let in, first come first; one who asks for the first time stands last."""
    asker = getattr(asked, "owner", "")
    is_answered_by_place = isinstance(asked, Acquire | KeepAlive) and done.answer not in {Said.REFUSED, Said.GONE}
    line = [
        ticket
        for ticket in before.queue
        if (table.listens(ticket.channel) or (is_answered_by_place and ticket.owner == asker))
        and not (isinstance(asked, Leave) and ticket.owner == asker)
    ]
    if isinstance(asked, Acquire) and is_answered_by_place and not before.held_by(asker) and not before.ticket(asker):
        told = (asked.channel, asked.who, asked.purpose)
        line.append(Ticket(asked.owner, asked.ttl, table.now, *told, asked.seen, table.now, asked.room, asked.depth))
    return line


def _depth_is_what_its_owner_said_last(before: LockState, asked: Ask, done: Turn) -> None:
    for holder in done.lock.holders:
        said = before.held_by(holder.owner)
        if isinstance(asked, Renew) and asked.owner == holder.owner and done.answer is Said.KEPT:
            assert holder.depth == asked.depth
        elif said is not None and said.fence == holder.fence:
            assert holder.depth == said.depth


def _asking_again_changes_nothing(asked: Ask, done: Turn, table: Table) -> None:
    """As when a reply was lost, in the same moment: neither who holds nor who waits, nor what is counted."""
    again = turn(done.lock, asked, table.moment)
    if isinstance(done.answer, Granted) or done.answer is Said.KEPT:
        assert (again.answer, again.lock) == (done.answer, done.lock)
    if isinstance(asked, Leave):
        assert (again.answer, again.lock) == (Said.GONE, done.lock)


def _new(before: LockState, lock: LockState) -> list[Holder]:
    known = {holder.fence for holder in before.holders}
    return [holder for holder in lock.holders if holder.fence not in known]
