"""How a lock is asked for, waited for, prolonged and given back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from dibs import events
from dibs.errors import LeaseLost, SelfDeadlock
from dibs.flows.asking import ask
from dibs.flows.bid import Bid
from dibs.flows.desk import note_debt, owe, tell_loss
from dibs.flows.hold import FORGOTTEN, LEFT, Hold, Watchers
from dibs.model.asks import KEPT, RELEASED, Busy, Held, KeepAnswer, Leave, LeaveAnswer
from dibs.model.request import Request
from dibs.model.tenure import LOST, Tenure
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World


@value
class Denied:
    """Somebody else had the lock for as long as we were told to wait."""

    held: Held
    waiters: int
    waited: float


async def acquire(
    world: World,
    desk: Desk,
    request: Request,
    *,
    inside: Sequence[Hold] = (),
    watchers: Watchers = (),
    bearer: object = None,
    queued: Callable[[], Awaitable[None]] | None = None,
) -> Hold | Denied:
    """From asking to holding. Whoever comes out without the lock has left, or owes it, at every await.

    `inside` is how the asker holds that lock already; the `bearer` stands for the lease: drop it, and it is over.
    Who has to wait in the queue is told by `queued`.
    """
    if inside:
        refuse_self_deadlock(world, request, inside)
    bid = Bid(world, desk, request, watchers, bearer)
    bid.queued = queued
    try:
        outcome = await bid.outcome()
    except GeneratorExit:  # thrown away, by the garbage collector perhaps: this is no place to talk to a store
        bid.leave(to_the_keeper=True)
        raise
    except BaseException:
        bid.leave()
        raise
    finally:
        bid.close()
    if isinstance(outcome, Hold):
        return outcome
    bid.leave()
    waited = world.now() - bid.began_at if request.is_patient else 0.0
    return denied(desk, request.name, outcome, waited=waited)


def denied(desk: Desk, name: str, busy: Busy, *, waited: float) -> Denied:
    """Tell everybody who wants to know that somebody else has the lock."""
    desk.count(name, "refused")
    if waited:
        desk.count(name, "waited", waited)
    desk.tell(events.FoundBusy(name, busy.held.who, waited))
    return Denied(busy.held, busy.waiters, waited)


async def prolong(world: World, desk: Desk, hold: Hold) -> LeaseLost | None:
    """Ask for a whole TTL more, now; gives the loss if it was too late."""
    asked_at = world.now()
    ttl = hold.renewal(asked_at)
    if hold.check(asked_at) is not LOST and ttl is not None:
        [answer] = await ask(world, desk.store.keep([(hold.name, hold.to_renew(ttl))]), desk.patience)
        _heard(world, desk, hold, tenure=Tenure(ttl, asked_at), answer=answer)
        if answer is KEPT:
            desk.count(hold.name, "renewed")
    if hold.check(world.now()) is LOST:
        desk.strike(hold)
        tell_loss(desk, hold)
    return hold.loss()


def restate(world: World, desk: Desk, hold: Hold) -> LeaseLost | None:
    """Tell the store, in passing, how often the lock is entered by now; gives the loss if we know of one."""
    asked_at = world.now()
    if hold.check(asked_at) is not LOST:
        ttl = hold.renewal(asked_at) if hold.request.renew else None
        ttl = hold.tenure.asked_at + hold.tenure.ttl - asked_at if ttl is None else ttl
        command, tenure = desk.store.keep([(hold.name, hold.to_renew(ttl))]), Tenure(ttl, asked_at)
        world.later(command, lambda answers: _heard(world, desk, hold, tenure=tenure, answer=answers[0]))
    return hold.loss()


def _heard(world: World, desk: Desk, hold: Hold, *, tenure: Tenure, answer: KeepAnswer) -> None:
    if answer is KEPT:
        hold.prolong(tenure, world.now())
    else:
        hold.lose(FORGOTTEN)
        desk.nudge()


async def reenter(world: World, desk: Desk, hold: Hold, *, watchers: Watchers = ()) -> int:
    """Go into a lock once more that we hold already; gives the entry, by which it is left again."""
    entry = hold.enter(watchers)
    loss = restate(world, desk, hold)
    if loss is None and not hold.is_left:
        return entry
    left = await release(world, desk, hold, entry=entry)
    raise loss or left or LeaseLost(hold.name, fence=hold.fence, reason=LEFT)


async def release(world: World, desk: Desk, hold: Hold, *, entry: int = 0) -> LeaseLost | None:
    """Give the lock back; gives the loss if it was not ours any more. Belief ends first.

    One who has entered several times holds on until the last `entry` is left. What the hold has as its memo is left
    behind in the same step, unless it was lost.
    """
    now = world.now()
    if hold.check(now) is LOST:
        tell_loss(desk, hold)  # while whoever leaves is among those to be told
    if hold.request.is_counted and (still_in := hold.leave(entry)) != 0:
        return restate(world, desk, hold) if still_in else None
    leave = Leave(hold.owner, hold.bar_until, hold.memo, None, hold.channel)
    try:
        if not hold.end():
            return None
        desk.strike(hold)
        if hold.lost_because is not None:  # told at once: the store may be silent, and that may be why
            tell_loss(desk, hold)
            _owe(world, desk, hold, Leave(hold.owner, hold.bar_until))
            return hold.loss()
        answer = await _leaving(world, desk, hold, leave, now)
    except GeneratorExit:
        desk.strike(hold)
        note_debt(world, desk, hold.name, leave, ttl=hold.request.ttl, stays=hold.stays_for(world.now()))
        raise
    except BaseException:  # a signal perhaps, at any moment: what was begun is finished
        hold.is_over = True
        desk.strike(hold)
        _owe(world, desk, hold, leave)
        if hold.lost_because is None:
            desk.let_go(hold, now)
        raise
    return _ended(world, desk, hold, answer=answer, left_at=now)


def _ended(
    world: World, desk: Desk, hold: Hold, *, answer: LeaveAnswer | KeepAnswer, left_at: float
) -> LeaseLost | None:
    """How it was, as the store says."""
    if answer is RELEASED or answer is KEPT:
        desk.let_go(hold, left_at)
        if desk.is_heard:
            desk.tell(events.Released(hold.name, hold.fence, hold.held_for(world.now())))
        return None
    hold.lost_because = FORGOTTEN
    tell_loss(desk, hold)
    return hold.loss()


def _leaving(
    world: World, desk: Desk, hold: Hold, leave: Leave, now: float
) -> Coroutine[Any, Any, LeaveAnswer | KeepAnswer]:
    """Leave; or leave it to the store when the lock is to stay taken for a while."""
    if stays := hold.stays_for(now):
        return _stayed(world, desk, hold, stays)
    return ask(world, desk.store.leave(hold.name, leave), desk.patience, since=now)


async def _stayed(world: World, desk: Desk, hold: Hold, stays: float) -> KeepAnswer:
    [answer] = await ask(world, desk.store.keep([(hold.name, hold.to_renew(stays))]), desk.patience)
    if answer is KEPT:  # it would end by itself; but whoever waits was told of a later end, and is to be told
        note_debt(world, desk, hold.name, Leave(hold.owner), ttl=hold.request.ttl, stays=stays)
    return answer


def _owe(world: World, desk: Desk, hold: Hold, leave: Leave) -> None:
    if stays := hold.stays_for(world.now()):
        note_debt(world, desk, hold.name, leave, ttl=hold.request.ttl, stays=stays)
    else:
        owe(world, desk, hold.name, leave, ttl=hold.request.ttl)


async def give_back(world: World, desk: Desk, hold: Hold, *, reason: str) -> None:
    """Release because all work is about to end. Belief ends first, so that whoever still works can see it."""
    was_lost = hold.check(world.now()) is LOST
    hold.lose(reason)
    if not hold.end():
        return
    desk.strike(hold)
    answer = await _leaving(world, desk, hold, Leave(hold.owner, hold.bar_until), world.now())
    if not was_lost and (answer is RELEASED or answer is KEPT):
        desk.let_go(hold, world.now())
        desk.tell(events.Released(hold.name, hold.fence, hold.held_for(world.now())))
        return
    if not was_lost:
        hold.lost_because = FORGOTTEN
    tell_loss(desk, hold)


def refuse_self_deadlock(world: World, request: Request, inside: Sequence[Hold]) -> None:
    """Who waits for room that it takes up itself would wait for ever."""
    held = [hold for hold in inside if hold.check(world.now()) is not LOST and not hold.is_forsaken()]
    if request.is_patient and held and len(held) >= min(request.room, *(hold.request.room for hold in held)):
        raise SelfDeadlock(request.name, fence=held[0].fence)
