"""How one comes to lead, and stops to: through the queue of an ordinary lock, with more patience."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from dibs import events
from dibs.errors import ClientClosed, StoreUnreachable
from dibs.flows.desk import note_debt, tell_loss
from dibs.flows.hold import Hold
from dibs.flows.locking import Denied
from dibs.model.asks import Leave
from dibs.model.backoff import backoff

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World

Stand = Callable[[], Awaitable[Hold | Denied]]
"""Stand in the lock's queue, once."""


async def campaign(world: World, desk: Desk, name: str, stand: Stand) -> Hold:
    """Stand until the lock is had. Silence of the store is told once each time it begins, and waited out."""
    tries, is_told = 0, False
    while True:
        if desk.is_closed:
            raise ClientClosed("stand for a lock")
        began_at = world.now()
        try:
            taken = await stand()
        except StoreUnreachable as silence:
            is_new = (
                world.now() - began_at > silence.after + desk.patience
            )  # we were in the queue, and heard, for a while
            if is_new or not is_told:
                desk.tell(events.CampaignStalled(name, silence.server, silence.why))
            is_told = True
        else:
            if isinstance(taken, Hold):
                return taken
            is_told = False  # it answers, that its queue is full
        await world.pause(backoff(tries, world.token()))
        tries += 1


def step_down(world: World, desk: Desk, hold: Hold) -> str | None:
    """Give the lock back from where nobody may wait, a destructor say: the keeper tells the store.

    Gives why it had been lost before, if it had; asks nothing of a lease that is over.
    """
    hold.check(world.now())
    if hold.end():
        desk.strike(hold)
        note_debt(world, desk, hold.name, Leave(hold.owner, hold.bar_until), ttl=hold.request.ttl)
        if hold.lost_because is None:
            desk.let_go(hold, world.now())
            desk.tell(events.Released(hold.name, hold.fence, hold.held_for(world.now())))
        tell_loss(desk, hold)
    return hold.lost_because
