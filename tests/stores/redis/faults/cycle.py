"""One whole cycle of a lock: taken, waited for by another, prolonged, handed over, prolonged, given back."""

from __future__ import annotations

from contextlib import suppress

from dibs import Lease, LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue
from dibs.testing.contract.faces import Face
from tests.stores.redis.faults.party import IN_TIME, NAME, PATIENCE, Party, ends_within
from tests.stores.redis.rivals import so

WAIT = 8.0
"""Enough for a connection that has fallen silent to be given up, and for a new one."""


async def cycle(party: Party, holder: Face, waiter: Face, *, ttl: float) -> None:
    """Both get the lock in their time, whatever happens once on the way; and nobody else is ever inside with them."""
    lease = await _entered(party, holder, ttl)
    second = waiter.start(_take_a_turn(party, waiter, ttl))
    await holder.happened(so(lambda: bool(waiter.diary.of(JoinedQueue)) or lease.lost))
    await _leave(party, holder, lease)
    await second.finish()


async def _take_a_turn(party: Party, face: Face, ttl: float) -> None:
    await _leave(party, face, await _entered(party, face, ttl))


async def _entered(party: Party, face: Face, ttl: float) -> Lease:
    async with ends_within(WAIT + IN_TIME):
        lease = await face.acquire(NAME, ttl=ttl, wait=WAIT)
    party.witness.enters(lease)
    return lease


async def _leave(party: Party, face: Face, lease: Lease) -> None:
    with suppress(StoreUnreachable, LeaseLost):
        async with ends_within(PATIENCE + IN_TIME):
            await face.extend(lease)
    party.witness.leaves(lease)
    with suppress(StoreUnreachable, LeaseLost):
        async with ends_within(PATIENCE + IN_TIME):
            await face.release(lease)
