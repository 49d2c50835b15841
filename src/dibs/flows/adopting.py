"""How a lease goes from one process to another: one lets go without a word to the store, the other renews it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from dibs import events
from dibs.errors import ClientClosed, ConfigError, LeaseLost
from dibs.flows.asking import ask
from dibs.flows.desk import owe
from dibs.flows.hold import FORGOTTEN, RAN_OUT, Hold, Watchers
from dibs.model.asks import Leave, Renew, Said
from dibs.model.baton import Baton
from dibs.model.tenure import Tenure, Verdict

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World


def hand_on(desk: Desk, hold: Hold, *, now: float, namespace: str) -> Baton | None:
    """Stop to hold, but leave the lock taken; `None` if it was over already. From here on nobody renews it."""
    if hold.check(now) is Verdict.LOST or not hold.end():
        return None
    desk.strike(hold)
    desk.note_end(hold, "handed on")
    request, held_for = hold.request, hold.held_for(now)
    desk.tell(events.HandedOn(hold.name, hold.fence, held_for))
    return Baton(
        namespace,
        hold.name,
        hold.owner,
        hold.fence,
        request.ttl,
        held_for,
        request.renew,
        request.max_hold,
        request.at_least,
        hold.bar_until,
    )


async def adopt(
    world: World, desk: Desk, baton: Baton, *, watchers: Watchers = (), bearer: object = None
) -> Hold | LeaseLost:
    """Go on with a lease, or learn that it is too late. Whoever gets no answer may try again with the same baton."""
    if baton.owner in desk.holds:
        raise _adopted_here(baton)
    asked_at = world.now()
    renew = Renew(baton.owner, baton.fence, baton.span)
    [answer] = await ask(world, desk.store.keep([(baton.name, renew)]), desk.patience)
    if answer is not Said.KEPT:
        return LeaseLost(baton.name, fence=baton.fence, reason=FORGOTTEN)
    hold = _taken_up(baton, asked_at, watchers)
    if hold.check(world.now()) is Verdict.LOST:
        owe(world, desk, baton.name, Leave(baton.owner, baton.bar_until), ttl=baton.ttl)
        return LeaseLost(baton.name, fence=baton.fence, reason=RAN_OUT)
    if bearer is not None:
        hold.bearer = ref(bearer, lambda _: desk.abandon(hold))
    _enrol(desk, hold, baton)
    return hold


def _taken_up(baton: Baton, asked_at: float, watchers: Watchers) -> Hold:
    """Held since its first holder got it, and trusted from this ask on."""
    granted = Tenure(baton.ttl, asked_at - baton.held_for)
    hold = Hold(baton.request, baton.owner, baton.fence, granted, bar_until=baton.bar_until, watchers=watchers)
    hold.tenure, hold.taken_up_at = Tenure(baton.span, asked_at), asked_at
    return hold


def _enrol(desk: Desk, hold: Hold, baton: Baton) -> None:
    if desk.holds.setdefault(hold.owner, hold) is not hold:  # by another thread, while we asked
        hold.end()
        raise _adopted_here(baton)
    desk.enrol(hold)
    if desk.is_closed:  # looked at after enrolling, while closing looks at what is enrolled after saying so
        hold.end()
        desk.strike(hold)
        raise ClientClosed("adopt a lease")
    desk.tell(events.Adopted(hold.name, hold.fence))


def _adopted_here(baton: Baton) -> ConfigError:
    return ConfigError(
        f"the lease on {baton.name!r} (fence {baton.fence}) was adopted by this client already: a token is for one; "
        "pass the lease itself on to other threads and tasks"
    )
