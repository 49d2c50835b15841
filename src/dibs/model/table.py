"""The transition table of a lock: what each ask does in each state, and what is answered.

Expiry is not a command. Every turn first drops what has expired, then does its cell of the table, then
serves the queue: a lock that has room is given to the first live tickets, whoever asked. So nobody barges, and
a lock whose holder and first waiter died together is served by the next one who asks.

Who holds says how many may hold beside it, itself included: one alone (a mutex, a writer), n (a semaphore's
permit), or all who say the same (a reader). A lock has room for a newcomer while fewer hold it than the
newcomer and each of those who hold it allow. Whoever does not fit stops all who stand behind it, so a waiting
writer is not passed by readers who come later.

| ask        | nobody's                    | one of its holders asks    | held by others only         |
| ---------- | --------------------------- | -------------------------- | --------------------------- |
| Acquire    | join; Granted or Queued     | prolong; Granted, same fence | join; Granted or Queued (Busy: no wait) |
| … barred   | Refused                     | Refused                    | Refused                     |
| KeepAlive  | refresh; as Acquire or Gone | prolong; Granted           | refresh; Granted, StillQueued or Gone |
| Renew      | Gone                        | same fence: prolong, note its depth; Kept | Gone         |
| Leave      | forget; Left or Gone        | vacate, keep its memo; Released | forget; Left or Gone   |
| Evict      | Gone                        | of that fence: vacate, tell it; Evicted, else Changed (both columns) |

An Acquire is barred after its `not_after`, and when its owner has left with an ask unanswered.
A ticket is live if its channel has a listener, or if it is the asker's own; one that is not is passed
over and keeps its place. One owner never has both a ticket and the lock.

Where a majority of several stores decides (`hands_over` is false), none gives its part to one who has not asked just
now: whoever asks is let in if there is room, and whoever else would fit is woken, and asks again. Who has its part and
asks anew gets a new fence, so that what it took back before cannot be mistaken for it.

Several locks at once (`turn_all`): each is asked without a place in the queue; unless all are granted, nothing
has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from dibs.model.asks import (
    RELEASED,
    Acquire,
    Answer,
    Ask,
    Busy,
    Evict,
    Granted,
    Hindrance,
    KeepAlive,
    Leave,
    Memo,
    Push,
    Queued,
    Renew,
    Said,
    StillQueued,
)
from dibs.model.lock import Holder, LockState, Ticket, held
from dibs.model.succession import Moment, serve, wake
from dibs.model.value import value

MOST_WAITERS = 10_000
"""A longer queue than this serves nobody: further askers are told that the lock is busy."""


@value
class Turn:
    """What came of one ask."""

    lock: LockState
    last_fence: int
    answer: Answer
    pushes: tuple[Push, ...] = ()
    memo: Memo | None = None
    """What is to be remembered from now on."""


def turn(before: LockState, ask: Ask, moment: Moment) -> Turn:
    """Do one cell of the table, then serve the queue."""
    now = moment.now
    lock = before.at(now)
    done = _cell(lock, ask, now)(lock, ask, now)
    asker = getattr(ask, "owner", None) if done.answer is None else None
    if moment.hands_over:
        lock, last_fence, told = serve(done.lock, asker, moment, raised=done.raised)
    else:
        mine = ask if asker and isinstance(ask, Acquire) else None
        lock, last_fence, told = wake(done.lock, mine, moment, raised=done.raised)
    pushes = (*done.pushes, *told)
    if done.answer is not None:
        return Turn(lock, last_fence, done.answer, pushes, done.memo)
    lock, answer = _found(lock, ask, now)
    return Turn(lock, last_fence, answer, pushes)


def turn_all(before: Sequence[LockState], asks: Sequence[Acquire], moment: Moment) -> Sequence[Turn] | Hindrance:
    """All or none: a turn for each lock; or nothing is done, and told why not of the first that is not granted."""
    turns, last = list[Turn](), moment.last_fence
    for lock, ask in zip(before, asks, strict=True):
        done = turn(lock, replace(ask, queue=False), replace(moment, last_fence=last))
        if done.answer is Said.REFUSED or isinstance(done.answer, Busy):
            return Hindrance(len(turns), done.answer)
        turns.append(done)
        last = done.last_fence
    return turns


def _cell(lock: LockState, ask: Ask, now: float) -> _Cell:
    cells = _TABLE[type(ask)]
    if isinstance(ask, Acquire) and (now > ask.not_after or ask.owner in lock.barred):
        return _refuse
    mine = lock.held_by(getattr(ask, "owner", None))
    if isinstance(ask, Leave) and ask.fence is not None and (mine is None or mine.fence != ask.fence):
        return _gone
    if not lock.holders:
        return cells.free
    return cells.mine if mine is not None else cells.theirs


def _found(lock: LockState, ask: Ask, now: float) -> tuple[LockState, Answer]:
    """The answer to one who wants the lock: read off where the turn has left it."""
    first, owner = lock.holder, getattr(ask, "owner", "")
    if first is None:
        return lock, Said.REFUSED if isinstance(ask, Acquire) else Said.GONE
    if (mine := lock.held_by(owner)) is not None:
        return lock, Granted(mine.fence)
    if isinstance(ask, Acquire) and (not ask.queue or lock.ticket(owner) is None):
        lock = LockState(lock.holders, lock.queue_without(owner), lock.barred)
        return lock, Busy(held(first, now), len(lock.queue))
    # Where it stands, and when to ask again: should all ahead of it die, it is the one to notice.
    position = next(position for position, ticket in enumerate(lock.queue) if ticket.owner == owner)
    soonest = min(holder.expires_at for holder in lock.holders)
    again = min([soonest - now, *(ticket.ttl for ticket in lock.queue[:position])])
    return lock, Queued(position, again, held(first, now)) if isinstance(ask, Acquire) else StillQueued(again)


# The cells. Each gives the lock as it leaves it; an answer only where serving cannot change it.


@value
class _Done:
    lock: LockState
    answer: Answer | None = None
    pushes: tuple[Push, ...] = ()
    raised: int = 0
    memo: Memo | None = None


def _join(lock: LockState, ask: Acquire, now: float) -> _Done:
    if lock.ticket(ask.owner) is not None:
        return _refresh(lock, ask, now)
    if len(lock.queue) >= MOST_WAITERS:
        return _Done(lock)
    told = (ask.channel, ask.who, ask.purpose)
    ticket = Ticket(ask.owner, ask.ttl, now + ask.ttl, *told, ask.seen, now, ask.room, ask.depth)
    return _Done(LockState(lock.holders, (*lock.queue, ticket), lock.barred))


def _refresh(lock: LockState, ask: Acquire | KeepAlive, now: float) -> _Done:
    if lock.ticket(ask.owner) is None:
        return _Done(lock, Said.GONE)
    queue = tuple(
        replace(ticket, expires_at=now + ask.ttl) if ticket.owner == ask.owner else ticket for ticket in lock.queue
    )
    return _Done(LockState(lock.holders, queue, lock.barred))


def _prolong(lock: LockState, ask: Acquire | KeepAlive, now: float) -> _Done:
    return _Done(lock.changed(_mine(lock, ask).until(now + ask.ttl)))


def _renew(lock: LockState, ask: Renew, now: float) -> _Done:
    mine = _mine(lock, ask)
    if mine.fence != ask.fence:
        return _Done(lock, Said.GONE)
    return _Done(lock.changed(mine.until(now + ask.ttl)._replace(depth=ask.depth)), Said.KEPT)


def _mine(lock: LockState, ask: Acquire | KeepAlive | Renew) -> Holder:
    return cast("Holder", lock.held_by(ask.owner))


def _refuse(lock: LockState, ask: Acquire, now: float) -> _Done:
    return _Done(lock, Said.REFUSED)


def _gone(lock: LockState, ask: Ask, now: float) -> _Done:
    return _Done(lock, Said.GONE)


def _forget(lock: LockState, ask: Leave, now: float) -> _Done:
    queue = lock.queue_without(ask.owner)
    answer = Said.GONE if len(queue) == len(lock.queue) else Said.LEFT
    return _Done(_bar(LockState(lock.holders, queue, lock.barred), ask, now), answer)


def _vacate(lock: LockState, ask: Leave, now: float) -> _Done:
    others = tuple(holder for holder in lock.holders if holder.owner != ask.owner)
    return _Done(_bar(LockState(others, lock.queue, lock.barred), ask, now), RELEASED, memo=ask.memo)


def _bar(lock: LockState, ask: Leave, now: float) -> LockState:
    if ask.bar_until is None or ask.bar_until < now:
        return lock
    return replace(lock, barred={**lock.barred, ask.owner: ask.bar_until})


def _evict(lock: LockState, ask: Evict, now: float) -> _Done:
    found = next((holder for holder in lock.holders if holder.fence == ask.fence), None)
    if found is None:
        return _Done(lock, Said.CHANGED)
    others = tuple(holder for holder in lock.holders if holder is not found)
    loss = Push(found.channel, found.owner, found.fence, "evicted")
    return _Done(replace(lock, holders=others), Said.EVICTED, (loss,), raised=1)


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
