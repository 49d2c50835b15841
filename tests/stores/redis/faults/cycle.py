"""One whole cycle of a lock: taken, waited for by another, prolonged, handed over, prolonged, given back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from dibs import Lease, LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue
from dibs.testing.contract.faces import Face
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.faults import Hold
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.harm import has_struck, is_over
from tests.stores.redis.faults.party import PATIENCE, Party, at_once

WAIT = 8.0
"""Enough for a connection that has fallen silent to be given up, and for a new one."""
HANDS = 22


def harm_each(
    colour: str, server: Server, *, ttl: float, messages: Callable[[Proxy], int], harm: Callable[[Proxy, int], Hold]
) -> None:
    """As many cycles as one has messages of a sort: in each of them, harm is done to another one."""

    def play(nth: int) -> None:
        with Proxy(server.port) as proxy:
            fault = harm(proxy, nth)
            party = _played(colour, proxy, ttl)
            if has_struck(fault):
                struck.add(nth)
                assert is_over(fault)
            party.leaves_nothing(server)

    struck = set[int]()
    with Proxy(server.port) as proxy:
        _played(colour, proxy, ttl)
        count = messages(proxy)
    at_once(range(1, count + 1), play, hands=HANDS)
    assert len(struck) >= count * 0.8  # the keepers have their own time, so the last ones may not be there each time


def _played(colour: str, proxy: Proxy, ttl: float) -> Party:
    party = Party(colour)
    holder, waiter = party.join(proxy.url), party.join(proxy.url)
    party.play(_cycle(party, holder, waiter, ttl))
    return party


async def _cycle(party: Party, holder: Face, waiter: Face, ttl: float) -> None:
    """Both get the lock in their time, whatever happens once on the way; and nobody else is ever inside with them."""
    lease = await _entered(party, holder, ttl)
    second = waiter.start(_take_a_turn(party, waiter, ttl))
    await holder.happened(so(lambda: bool(waiter.diary.of(JoinedQueue)) or lease.lost))
    await _leave(party, holder, lease)
    await second.finish()


async def _take_a_turn(party: Party, face: Face, ttl: float) -> None:
    await _leave(party, face, await _entered(party, face, ttl))


async def _entered(party: Party, face: Face, ttl: float) -> Lease:
    with ends_within(WAIT + IN_TIME):
        return await party.enter(face, ttl=ttl, wait=WAIT)


async def _leave(party: Party, face: Face, lease: Lease) -> None:
    with suppress(StoreUnreachable, LeaseLost), ends_within(PATIENCE + IN_TIME):
        await face.extend(lease)
    with suppress(StoreUnreachable, LeaseLost), ends_within(PATIENCE + IN_TIME):
        await party.leave(face, lease)
