"""The transition table of a lock: what each ask does in each state, and what is answered.

Expiry is not a command. Every turn first drops what has expired, then does its cell of the table, then
serves the queue: a lock found free goes to the first live ticket, whoever asked. So nobody barges, and a
lock whose holder and first waiter died together is served by the next one who asks.

| ask        | free                        | held by the asker          | held by another             |
| ---------- | --------------------------- | -------------------------- | --------------------------- |
| Acquire    | join; Granted or Queued     | prolong; Granted, same fence | join; Queued (Busy: no wait) |
| … barred   | Refused                     | Refused                    | Refused                     |
| KeepAlive  | refresh; as Acquire or Gone | prolong; Granted           | refresh; StillQueued or Gone |
| Renew      | Gone                        | same fence: prolong; Kept  | Gone                        |
| Leave      | forget; Left or Gone        | vacate; Released           | forget; Left or Gone        |
| Evict      | Gone                        | same fence: vacate, tell the holder; Evicted, else Changed (both columns) |

An Acquire is barred after its `not_after`, and when its owner has left with an ask unanswered.
A ticket is live if its channel has a listener, or if it is the asker's own; one that is not is passed
over and keeps its place. One owner never has both a ticket and the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple, cast

from dibs.model.asks import (
    Acquire,
    Answer,
    Ask,
    Busy,
    Evict,
    Granted,
    Held,
    KeepAlive,
    Leave,
    Push,
    Queued,
    Renew,
    Said,
    StillQueued,
)
from dibs.model.fence import next_fence
from dibs.model.value import value

MOST_WAITERS = 10_000
"""A longer queue than this serves nobody: further askers are told that the lock is busy."""


class Holder(NamedTuple):
    """Who has the lock, by which fence, until when. As a tuple it is a row in a table, too."""

    owner: str
    fence: int
    ttl: float
    since: float
    expires_at: float
    channel: str
    who: str
    purpose: str

    def until(self, expires_at: float) -> Holder:
        """The same holder, for longer."""
        return self._replace(expires_at=expires_at)


@value
class Ticket:
    """A place in the queue, dropped unless it is kept alive."""

    owner: str
    ttl: float
    expires_at: float
    channel: str
    who: str
    purpose: str
    seen: int
    since: float


@value
class LockState:
    """All that a store keeps of one lock. Blank = as if it had never been heard of."""

    holder: Holder | None = None
    queue: tuple[Ticket, ...] = ()
    barred: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def is_blank(self) -> bool:
        """Whether nothing is left to remember."""
        return self.holder is None and not self.queue and not self.barred

    def ticket(self, owner: str) -> Ticket | None:
        """The owner's place in the queue."""
        return next((ticket for ticket in self.queue if ticket.owner == owner), None)

    def at(self, now: float) -> LockState:
        """The state without what has expired by now."""
        holder, queue, barred = self.holder, self.queue, self.barred
        if holder is not None and holder.expires_at <= now:
            holder = None
        if queue and any(ticket.expires_at <= now for ticket in queue):
            queue = tuple(ticket for ticket in queue if ticket.expires_at > now)
        if barred and any(until < now for until in barred.values()):
            barred = {owner: until for owner, until in barred.items() if until >= now}
        if holder is self.holder and queue is self.queue and barred is self.barred:
            return self
        return LockState(holder, queue, barred)


@value
class Moment:
    """What a turn needs to know beside the lock: the store's clock, its fence counter, who listens."""

    now: float
    last_fence: int
    listens: Callable[[str], bool]


@value
class Turn:
    """What came of one ask."""

    lock: LockState
    last_fence: int
    answer: Answer
    pushes: tuple[Push, ...] = ()


def turn(before: LockState, ask: Ask, moment: Moment) -> Turn:
    """Do one cell of the table, then serve the queue."""
    now = moment.now
    lock = before.at(now)
    done = _cell(lock, ask, now)(lock, ask, now)
    asker = getattr(ask, "owner", None) if done.answer is None else None
    lock, last_fence, pushes = _serve(done, asker, moment)
    if done.answer is not None:
        return Turn(lock, last_fence, done.answer, pushes)
    lock, answer = _found(lock, ask, now)
    return Turn(lock, last_fence, answer, pushes)


def _cell(lock: LockState, ask: Ask, now: float) -> _Cell:
    cells = _TABLE[type(ask)]
    if isinstance(ask, Acquire) and (now > ask.not_after or ask.owner in lock.barred):
        return _refuse
    if lock.holder is None:
        return cells.free
    return cells.mine if lock.holder.owner == getattr(ask, "owner", None) else cells.theirs


def _serve(done: _Done, asker: str | None, moment: Moment) -> tuple[LockState, int, tuple[Push, ...]]:
    """Give a free lock to the first live ticket; tell its process, unless it is the one who asks."""
    lock, last = done.lock, moment.last_fence + done.raised
    if lock.holder is not None or not lock.queue:
        return lock, last, done.pushes
    for ticket in lock.queue:
        if ticket.owner == asker or moment.listens(ticket.channel):
            break
    else:
        return lock, last, done.pushes
    now, owner, ttl = moment.now, ticket.owner, ticket.ttl
    fence = next_fence(last=last, now=now, seen=ticket.seen)
    holder = Holder(owner, fence, ttl, now, now + ttl, ticket.channel, ticket.who, ticket.purpose)
    pushes = done.pushes if owner == asker else (*done.pushes, Push(ticket.channel, owner, fence, "handed"))
    return LockState(holder, _without(lock.queue, owner), lock.barred), fence, pushes


def _found(lock: LockState, ask: Ask, now: float) -> tuple[LockState, Answer]:
    """The answer to one who wants the lock: read off where the turn has left it."""
    holder, owner = lock.holder, getattr(ask, "owner", "")
    if holder is None:
        return lock, Said.REFUSED
    if holder.owner == owner:
        return lock, Granted(holder.fence)
    if isinstance(ask, Acquire) and (not ask.queue or lock.ticket(owner) is None):
        lock = LockState(holder, _without(lock.queue, owner), lock.barred)
        return lock, Busy(held(holder, now), len(lock.queue))
    # Where it stands, and when to ask again: should all ahead of it die, it is the one to notice.
    position = next(position for position, ticket in enumerate(lock.queue) if ticket.owner == owner)
    again = min([holder.expires_at - now, *(ticket.ttl for ticket in lock.queue[:position])])
    return lock, Queued(position, again, held(holder, now)) if isinstance(ask, Acquire) else StillQueued(again)


def held(holder: Holder, now: float) -> Held:
    """What others may know of a holder."""
    return Held(holder.who, holder.purpose, holder.since, holder.ttl, holder.expires_at - now, holder.fence)


# The cells. Each gives the lock as it leaves it; an answer only where serving cannot change it.


@value
class _Done:
    lock: LockState
    answer: Answer | None = None
    pushes: tuple[Push, ...] = ()
    raised: int = 0


def _join(lock: LockState, ask: Acquire, now: float) -> _Done:
    if lock.ticket(ask.owner) is not None:
        return _refresh(lock, ask, now)
    if len(lock.queue) >= MOST_WAITERS:
        return _Done(lock)
    ticket = Ticket(ask.owner, ask.ttl, now + ask.ttl, ask.channel, ask.who, ask.purpose, ask.seen, now)
    return _Done(LockState(lock.holder, (*lock.queue, ticket), lock.barred))


def _refresh(lock: LockState, ask: Acquire | KeepAlive, now: float) -> _Done:
    if lock.ticket(ask.owner) is None:
        return _Done(lock, Said.GONE)
    queue = tuple(
        replace(ticket, expires_at=now + ask.ttl) if ticket.owner == ask.owner else ticket for ticket in lock.queue
    )
    return _Done(LockState(lock.holder, queue, lock.barred))


def _prolong(lock: LockState, ask: Acquire | KeepAlive | Renew, now: float) -> _Done:
    holder = cast("Holder", lock.holder)
    return _Done(LockState(holder.until(now + ask.ttl), lock.queue, lock.barred))


def _renew(lock: LockState, ask: Renew, now: float) -> _Done:
    holder = cast("Holder", lock.holder)
    if holder.fence != ask.fence:
        return _Done(lock, Said.GONE)
    return _Done(_prolong(lock, ask, now).lock, Said.KEPT)


def _refuse(lock: LockState, ask: Acquire, now: float) -> _Done:
    return _Done(lock, Said.REFUSED)


def _gone(lock: LockState, ask: Ask, now: float) -> _Done:
    return _Done(lock, Said.GONE)


def _forget(lock: LockState, ask: Leave, now: float) -> _Done:
    queue = _without(lock.queue, ask.owner)
    answer = Said.GONE if len(queue) == len(lock.queue) else Said.LEFT
    return _Done(_bar(LockState(lock.holder, queue, lock.barred), ask, now), answer)


def _vacate(lock: LockState, ask: Leave, now: float) -> _Done:
    return _Done(_bar(LockState(None, lock.queue, lock.barred), ask, now), Said.RELEASED)


def _bar(lock: LockState, ask: Leave, now: float) -> LockState:
    if ask.bar_until is None or ask.bar_until < now:
        return lock
    return replace(lock, barred={**lock.barred, ask.owner: ask.bar_until})


def _evict(lock: LockState, ask: Evict, now: float) -> _Done:
    holder = cast("Holder", lock.holder)
    if holder.fence != ask.fence:
        return _Done(lock, Said.CHANGED)
    loss = Push(holder.channel, holder.owner, holder.fence, "evicted")
    return _Done(replace(lock, holder=None), Said.EVICTED, (loss,), raised=1)


def _without(queue: tuple[Ticket, ...], owner: str) -> tuple[Ticket, ...]:
    if len(queue) == 1:  # by far the most common: the asker's own ticket, served at once
        return () if queue[0].owner == owner else queue
    return tuple(ticket for ticket in queue if ticket.owner != owner)


_Cell = Callable[[LockState, Any, float], _Done]


@value
class _Cells:
    free: _Cell
    mine: _Cell
    theirs: _Cell


_TABLE: Mapping[type[Ask], _Cells] = {
    Acquire: _Cells(free=_join, mine=_prolong, theirs=_join),
    KeepAlive: _Cells(free=_refresh, mine=_prolong, theirs=_refresh),
    Renew: _Cells(free=_gone, mine=_renew, theirs=_gone),
    Leave: _Cells(free=_forget, mine=_vacate, theirs=_forget),
    Evict: _Cells(free=_gone, mine=_evict, theirs=_evict),
}
