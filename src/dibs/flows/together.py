"""How several locks are taken: all or none.

First in one step, if all are free. Else one after the other, in the order of their names, which everybody keeps to:
so those who wait for one another's locks never stand in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from dibs.flows import locking
from dibs.flows.asking import ask
from dibs.flows.bid import Bid
from dibs.flows.desk import owe
from dibs.flows.hold import Hold, Watchers
from dibs.flows.locking import Denied
from dibs.model.asks import Granted, Leave
from dibs.model.request import Request
from dibs.model.tenure import Verdict
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.errors import LeaseLost
    from dibs.flows.desk import Desk
    from dibs.ports.world import World

Wishes = Sequence[tuple[Request, object]]
"""Each lock that is wanted, by name, with the bearer that stands for its lease."""


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
    taken: Sequence[Hold] | Hindered = await _at_once(world, desk, wishes, watchers)
    give_up_at = inf if wait is None else began_at + wait
    while not taken:
        taken = await _one_by_one(world, desk, wishes, watchers, give_up_at=give_up_at)
        if isinstance(taken, Hindered):
            waited = world.now() - began_at if wait else 0.0
            return replace(taken, denied=replace(taken.denied, waited=waited))
        if any(hold.check(world.now()) is Verdict.LOST for hold in taken):  # while we waited for the last of them
            _drop(world, desk, taken)
            taken = ()
    return taken


async def _at_once(world: World, desk: Desk, wishes: Wishes, watchers: Watchers) -> Sequence[Hold]:
    """All of them in one step, waiting for none; nothing unless all are free."""
    store_time = world.store_time()
    if store_time is None:
        store_time = await ask(world, desk.store.time(), desk.patience)
    bids = [Bid(world, desk, replace(request, wait=0.0), watchers, bearer) for request, bearer in wishes]
    asks = [(bid.name, bid.wish(store_time, desk.patience)) for bid in bids]
    holds: list[Hold] = []
    try:
        for bid, answer in zip(bids, await ask(world, desk.store.acquire_all(asks), desk.patience), strict=False):
            if isinstance(answer, Granted) and isinstance(hold := bid.told(answer), Hold):
                holds.append(hold)
    except BaseException:
        _drop(world, desk, holds)
        for bid in bids[len(holds) :]:
            bid.leave()
        raise
    return holds


async def _one_by_one(
    world: World, desk: Desk, wishes: Wishes, watchers: Watchers, *, give_up_at: float
) -> Sequence[Hold] | Hindered:
    holds: list[Hold] = []
    try:
        for request, bearer in wishes:
            wait = None if give_up_at == inf else max(give_up_at - world.now(), 0.0)
            taken = await locking.acquire(world, desk, replace(request, wait=wait), watchers=watchers, bearer=bearer)
            if isinstance(taken, Denied):
                _drop(world, desk, holds)
                return Hindered(request.name, taken)
            holds.append(taken)
    except BaseException:
        _drop(world, desk, holds)
        raise
    return holds


async def release_all(world: World, desk: Desk, holds: Sequence[Hold]) -> LeaseLost | None:
    """Give all of them back; gives the first loss. Whatever interrupts it, nothing is kept."""
    loss: LeaseLost | None = None
    for number, hold in enumerate(holds):
        try:
            lost = await locking.release(world, desk, hold)
        except BaseException:
            _drop(world, desk, holds[number + 1 :])
            raise
        loss = loss or lost
    return loss


def _drop(world: World, desk: Desk, holds: Sequence[Hold]) -> None:
    """Give back what is of no use without the rest."""
    for hold in holds:
        if hold.end():
            desk.strike(hold)
            owe(world, desk, hold.name, Leave(hold.owner, hold.bar_until), ttl=hold.request.ttl)
