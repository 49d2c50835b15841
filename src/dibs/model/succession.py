"""Who is let in next, when a lock has room: by a store that decides alone, or by one whose vote is one of several."""

from __future__ import annotations

from collections.abc import Callable

from dibs.model.asks import Acquire, Push
from dibs.model.fence import next_fence
from dibs.model.lock import LockState, Ticket
from dibs.model.value import value


@value
class Moment:
    """What a turn needs to know beside the lock: the store's clock, its fence counter, who listens."""

    now: float
    last_fence: int
    listens: Callable[[str], bool]
    hands_over: bool = True
    """Whether this store decides alone; else it has one vote of several."""


Served = tuple[LockState, int, tuple[Push, ...]]
"""The lock with whoever was let in, the last fence, and who is told."""


def serve(lock: LockState, asker: str | None, moment: Moment, *, raised: int) -> Served:
    """Let the first live tickets in, as far as there is room; tell their processes, unless it is the one who asks."""
    last, pushes = moment.last_fence + raised, tuple[Push, ...]()
    for ticket in lock.queue:
        if ticket.owner != asker and not moment.listens(ticket.channel):
            continue
        if not lock.has_room(ticket.room):
            break
        last = next_fence(last=last, now=moment.now, seen=ticket.seen)
        lock = lock.entered(ticket, last, moment.now)
        if ticket.owner != asker:
            pushes = (*pushes, Push(ticket.channel, ticket.owner, last, "handed"))
    return lock, last, pushes


def wake(lock: LockState, ask: Acquire | None, moment: Moment, *, raised: int) -> Served:
    """Let in whoever asks, if there is room and nobody live stands before it who needs more; wake who would fit."""
    last, fitting = moment.last_fence + raised, list[Ticket]()
    mine = None if ask is None else lock.held_by(ask.owner)
    if ask is not None and mine is not None and mine.fence <= ask.seen:  # another ask: what the last one got is void
        last = next_fence(last=last, now=moment.now, seen=ask.seen)
        lock = lock.changed(mine._replace(fence=last))
    for ticket in lock.queue:
        if ask is not None and ticket.owner == ask.owner:
            if lock.has_room(ticket.room):
                last = next_fence(last=last, now=moment.now, seen=ask.seen)
                lock = lock.entered(ticket, last, moment.now)
            break
        if lock.has_room(ticket.room):
            fitting.append(ticket)
        elif moment.listens(ticket.channel):
            break
    return lock, last, _woken(lock, fitting, moment)


def _woken(lock: LockState, fitting: list[Ticket], moment: Moment) -> tuple[Push, ...]:
    """Those who listen, the first first, as far as there would be room for them."""
    woken, foreseen = list[Push](), lock
    for ticket in fitting:
        if not foreseen.has_room(ticket.room):
            break
        if moment.listens(ticket.channel):
            woken.append(Push(ticket.channel, ticket.owner, 0, "woken"))
            foreseen = foreseen.entered(ticket, 0, moment.now)
    return tuple(woken)
