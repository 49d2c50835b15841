"""How several locks are taken: all or none.

First in one step, if all are free. Else one after the other, in the order of their names, which everybody keeps to:
so those who wait for one another's locks never stand in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.flows import locking
from dibs.flows.bid import Bid
from dibs.flows.desk import note_debt, owe, tell_loss
from dibs.flows.hold import Hold, Watchers
from dibs.flows.locking import Denied
from dibs.model.asks import Busy, Hindrance, Leave, Said
from dibs.model.request import A_MOMENT, Request
from dibs.model.tenure import Verdict
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.errors import LeaseLost
    from dibs.flows.desk import Desk
    from dibs.ports.world import World

Wishes = Sequence[tuple[Request, object]]
"""Each lock that is wanted, by name, with the bearer that stands for its lease."""

FOR_THE_KEEPER = (GeneratorExit, StoreUnreachable)
"""After these it is no place, or no use, to talk to the store: one who is silent would be waited for each time."""


@value
class Hindered:
    """One of the locks was not to be had, so none is ours."""

    name: str
    denied: Denied


async def acquire_all(
    world: World, desk: Desk, wishes: Wishes, *, inside: Sequence[Hold] = (), watchers: Watchers = ()
) -> Sequence[Hold] | Hindered:
    """Take all of these locks, which all are wanted for as long; `inside` is how the asker holds some already."""
    began_at, wait = world.now(), wishes[0][0].wait
    for request, _ in wishes:
        locking.refuse_self_deadlock(world, request, [hold for hold in inside if hold.name == request.name])
    give_up_at = inf if wait is None else began_at + wait
    taken = await _at_once(world, desk, wishes, watchers)
    while not taken:
        taken = await _one_by_one(world, desk, wishes, give_up_at=give_up_at)
        if isinstance(taken, Hindered):
            waited = world.now() - began_at if wait else 0.0
            return replace(taken, denied=replace(taken.denied, waited=waited))
        for hold in taken:  # not before: who still waits for the last of them has nothing to lose
            hold.watch(watchers)
        if any(hold.check(world.now()) is Verdict.LOST for hold in taken):
            _drop(world, desk, taken)
            taken = ()
    return taken


async def _at_once(world: World, desk: Desk, wishes: Wishes, watchers: Watchers) -> Sequence[Hold] | Hindered:
    """All of them in one step, waiting for none; nothing if it is worth to ask for one after the other."""
    wait = wishes[0][0].wait
    try:
        taken = await _in_one_step(world, desk, wishes, watchers)
    except StoreUnreachable as silence:
        if isinstance(silence, StoreRefused) or (wait or 0.0) > desk.patience:
            return ()
        raise
    if not isinstance(taken, Hindrance):
        return taken
    if wait == 0 and isinstance(taken.answer, Busy):
        name = wishes[taken.place][0].name
        return Hindered(name, locking.denied(desk, name, taken.answer, waited=0.0))
    return ()


async def _in_one_step(world: World, desk: Desk, wishes: Wishes, watchers: Watchers) -> Sequence[Hold] | Hindrance:
    wait = wishes[0][0].wait
    ends_at = world.now() + min(desk.patience, wait or desk.patience)
    store_time = world.store_time()
    if store_time is None:
        store_time = await world.ask(desk.store.time(), ends_at - world.now(), exactly=bool(wait))
    within = max(ends_at - world.now(), A_MOMENT)
    bids = [Bid(world, desk, replace(request, wait=0.0), watchers, bearer) for request, bearer in wishes]
    asks = [(bid.name, bid.wish(store_time, within)) for bid in bids]
    holds: list[Hold] = []
    try:
        answer = await world.ask(desk.store.acquire_all(asks), within, exactly=bool(wait))
        if isinstance(answer, Hindrance):
            return _none(bids, answer)
        for bid, grant in zip(bids, answer, strict=True):
            holds.append(bid.granted(grant))
    except StoreRefused:  # surely not done: there is nothing to take back
        raise
    except BaseException as error:
        _drop(world, desk, holds, because=error)
        for bid in bids[len(holds) :]:
            bid.leave(to_the_keeper=isinstance(error, FOR_THE_KEEPER))
        raise
    finally:
        for bid in bids:
            bid.close()
    return holds


def _none(bids: Sequence[Bid], hindrance: Hindrance) -> Hindrance:
    if hindrance.answer is Said.REFUSED:  # which comes too late, perhaps after the same ask was granted
        for bid in bids:
            bid.leave()
    return hindrance


async def _one_by_one(world: World, desk: Desk, wishes: Wishes, *, give_up_at: float) -> Sequence[Hold] | Hindered:
    holds: list[Hold] = []
    try:
        for request, bearer in wishes:
            taken = await locking.acquire(world, desk, _by_then(request, give_up_at, world.now()), bearer=bearer)
            if isinstance(taken, Denied):
                _drop(world, desk, holds)
                return Hindered(request.name, taken)
            holds.append(taken)
    except BaseException as error:
        _drop(world, desk, holds, because=error)
        raise
    return holds


def _by_then(request: Request, give_up_at: float, now: float) -> Request:
    """The same wish in what is left of its time; once none is left, none is left to bear a silence either."""
    return replace(request, wait=max(give_up_at - now, 0.0), patience=0.0) if request.wait else request


async def release_all(world: World, desk: Desk, holds: Sequence[Hold]) -> LeaseLost | None:
    """Give all of them back; gives the first loss. Whatever interrupts it, nothing is kept."""
    loss: LeaseLost | None = None
    for number, hold in enumerate(holds):
        try:
            lost = await locking.release(world, desk, hold)
        except BaseException as error:
            _drop(world, desk, holds[number + 1 :], because=error, were_used=True)
            raise
        loss = loss or lost
    return loss


def _drop(
    world: World,
    desk: Desk,
    holds: Sequence[Hold],
    *,
    because: BaseException | None = None,
    were_used: bool = False,
) -> None:
    """Give back what is of no use without the rest; what nobody has used need not stay taken for its `at_least`."""
    for hold in holds:
        if not hold.end():
            continue
        desk.strike(hold)
        if not were_used:  # then nobody has lost anything by it
            hold.watch(())
        if were_used and hold.lost_because is None:
            desk.let_go(hold, world.now())
        tell_loss(desk, hold)
        leave, ttl = Leave(hold.owner, hold.bar_until), hold.request.ttl
        stays = hold.stays_for(world.now()) if were_used else 0.0
        if stays or isinstance(because, FOR_THE_KEEPER):
            note_debt(world, desk, hold.name, leave, ttl=ttl, stays=stays)
        else:
            owe(world, desk, hold.name, leave, ttl=ttl)
