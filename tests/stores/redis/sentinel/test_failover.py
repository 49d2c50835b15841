"""The master changes while one holds a lock and others wait for it: all of them move, and need not be started anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from dibs import Lease, LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue, Lost
from dibs.testing.contract.faces import Face
from tests.chaos.losses import Loss
from tests.chaos.moments import ends_within, so
from tests.servers.kinds import REDIS
from tests.servers.sentinels import House
from tests.servers.server import Server
from tests.stores.redis.faults.party import NAME, renewed
from tests.stores.redis.sentinel.household import (
    SOON,
    Household,
    by_command,
    by_isolation,
    by_kill,
    by_stop,
    each_of,
    meanwhile,
    nothing_is_left_running,
    thorough,
)

TTL = 4.0
WAIT = 20.0

Failover = Callable[[House], Server]


async def goes_on(face: Face, lease: Lease) -> None:
    """Prolonged where the master is now. What was asked when it moved has no answer, and is asked again."""
    try:
        await face.extend(lease)
    except StoreUnreachable:
        await face.extend(lease)


@each_of(
    ("blocking", by_command),
    ("asyncio", by_command),
    *thorough(("blocking", by_kill), ("asyncio", by_kill), ("asyncio", by_stop)),
    *thorough(("blocking", by_isolation), ("asyncio", by_isolation)),
)
def test_a_holder_keeps_its_lease_through_a_failover_and_those_who_wait_get_it_next(
    household: Household, house: House, fail_over: Failover
) -> None:
    holder, *others = (household.join(house.url) for _ in range(3))

    async def scene() -> None:
        lease = await household.enter(holder, ttl=TTL * 3)
        waiting = [face.start(household.visit(face, ttl=TTL, wait=WAIT)) for face in others]
        for face in others:
            await face.seen(JoinedQueue)
        house.copied()
        before = house.master
        master = await meanwhile(holder, lambda: fail_over(house))
        with ends_within(SOON):  # the keeper, who renews, is there; and so is who waits
            await goes_on(holder, lease)
            await holder.happened(so(lambda: household.told_by(master) >= len(others) + 1))
            if fail_over in (by_command, by_isolation):  # it still answers, and nobody asks it
                await holder.happened(so(lambda: household.told_by(before) == 0))
        lease.ensure()
        with ends_within(SOON):
            await household.leave(holder, lease)
            for each in waiting:
                await each.finish()
        assert not holder.diary.of(Lost)

    household.play(scene())
    household.leaves_nothing(house.master)
    nothing_is_left_running()


@pytest.mark.thorough
@pytest.mark.parametrize("server_kind", [REDIS], ids=str, indirect=True)
@each_of(("blocking", by_isolation), ("asyncio", by_kill))
def test_it_is_the_same_with_redis(household: Household, house: House, fail_over: Failover) -> None:
    holder = household.join(house.url)

    async def scene() -> None:
        await household.visit(holder, ttl=TTL)
        await meanwhile(holder, lambda: fail_over(house))
        with ends_within(SOON):
            await household.visit(holder, ttl=TTL)

    household.play(scene())
    household.leaves_nothing(house.master)


@pytest.mark.thorough
@each_of(("blocking", by_command), ("blocking", by_isolation), ("asyncio", by_kill))
def test_two_failovers_in_a_row_are_one_after_the_other(
    household: Household, house: House, fail_over: Failover
) -> None:
    face, other = household.join(house.url), household.join(house.url)

    async def scene() -> None:
        await household.visit(other, ttl=TTL)
        lease = await household.enter(face, ttl=TTL * 4)
        second = other.start(household.visit(other, ttl=TTL, wait=WAIT))
        await other.seen(JoinedQueue)
        for _ in range(2):
            house.copied()
            await meanwhile(face, lambda: fail_over(house))
            with ends_within(SOON):
                await goes_on(face, lease)
        await household.leave(face, lease)
        with ends_within(SOON):
            await second.finish()

    household.play(scene())
    household.leaves_nothing(house.master)
    nothing_is_left_running()


@pytest.mark.thorough
@each_of(("blocking", by_kill), ("asyncio", by_kill), ("asyncio", by_isolation))
def test_a_failover_that_forgets_the_last_lock_is_told_to_its_holder_and_fences_rise(
    household: Household, house: House, fail_over: Failover
) -> None:
    holder, newcomer = household.join(house.url), household.join(house.url)

    async def scene() -> None:
        await household.visit(newcomer, ttl=TTL)
        house.copies_nothing(house.master)
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        household.witness.counts(lease)
        await meanwhile(holder, lambda: fail_over(house))
        with ends_within(TTL / 3 + SOON):
            await holder.happened(so(lambda: lease.lost))
        assert "no longer knows it" in loss.reason(lease)
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        await household.follow(newcomer, ttl=TTL)
        await household.follow(holder, ttl=TTL)

    household.play(scene())
    household.leaves_nothing(house.master)


@pytest.mark.thorough
def test_those_who_wait_ask_again_at_a_master_that_has_forgotten_their_queue(
    household: Household, house: House
) -> None:
    holder, *others = (household.join(house.url) for _ in range(4))

    async def scene() -> None:
        lease = await household.enter(holder, ttl=TTL * 3)
        house.copied()
        house.copies_nothing(house.master)
        waiting = [face.start(household.visit(face, ttl=TTL, wait=WAIT)) for face in others]
        for face in others:
            await face.seen(JoinedQueue)
        await meanwhile(holder, lambda: by_kill(house))
        with ends_within(2 * SOON):
            await goes_on(holder, lease)
            with suppress(StoreUnreachable):
                await household.leave(holder, lease)
            for each in waiting:
                await each.finish()

    household.play(scene())
    household.leaves_nothing(house.master)


@pytest.mark.thorough
def test_a_lease_is_renewed_where_the_master_is_now(household: Household, house: House) -> None:
    """Though nobody calls: the keeper is the one who moves. What it renews while they fail over may be forgotten."""
    face, ttl = household.join(house.url), TTL * 2

    async def scene() -> None:
        lease = await household.enter(face, ttl=ttl)
        house.copied()
        await meanwhile(face, house.fail_over)
        for _ in range(2):
            next_renewal = renewed(lease)
            with ends_within(ttl / 2):
                await face.happened(next_renewal)
        lease.ensure()
        await household.leave(face, lease)

    household.play(scene())
    household.leaves_nothing(house.master)
