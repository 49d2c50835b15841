"""What is granted is on so many replicas, or it is not granted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import dibs
from dibs import StoreUnreachable
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.chaos.resource import Resource
from tests.servers.ports import HOST
from tests.servers.sentinels import PASSWORD, House
from tests.servers.server import Server
from tests.stores.redis.faults.party import NAME
from tests.stores.redis.seconded import is_handed_it_when_replicas_know, take_turns_through
from tests.stores.redis.sentinel.household import SOON, Household, by_isolation, by_kill, each_of, meanwhile

TTL = 2.0
WAIT = 0.6


def strict(house: House) -> str:
    return f"{house.url}?min_replicas=2"


def test_without_replicas_nothing_is_granted_and_nothing_is_left(household: Household, house: House) -> None:
    face, master = household.join(strict(house)), house.master

    async def scene() -> None:
        await household.visit(face, ttl=TTL)
        house.copies_nothing(master)
        with ends_within(WAIT + IN_TIME), pytest.raises(StoreUnreachable) as refused:
            await face.acquire(NAME, ttl=30, wait=WAIT)
        assert "0 of its replicas took it over, not 2" in refused.value.why
        assert not refused.value.is_outage
        await face.happened(so(lambda: not master.ask("EXISTS", household.key())))
        house.heal(master)
        with ends_within(2 * SOON + IN_TIME):
            await household.visit(face, ttl=TTL)

    household.play(scene())
    household.leaves_nothing(master)


@pytest.mark.thorough
def test_another_s_lock_is_not_rolled_back(household: Household, house: House) -> None:
    strict_one, other, master = household.join(strict(house)), household.join(house.url), house.master

    async def scene() -> None:
        lease = await household.enter(other, ttl=30)
        house.copies_nothing(master)
        assert await strict_one.try_acquire(NAME) is None
        lease.ensure()
        await other.extend(lease)
        await household.leave(other, lease)

    household.play(scene())


@pytest.mark.thorough
def test_a_lease_that_replicas_do_not_hear_of_is_lost_in_time(household: Household, house: House) -> None:
    face, master = household.join(strict(house)), house.master

    async def scene() -> None:
        loss = Loss()
        lease = await face.acquire(NAME, ttl=TTL, on_lost=loss)
        house.copies_nothing(master)
        await face.happened(so(lambda: lease.lost))
        assert "ran out" in loss.reason(lease)

    household.play(scene())


@pytest.mark.thorough
def test_who_is_handed_a_lock_has_it_when_replicas_do(household: Household, house: House) -> None:
    holder, waiter, master = household.join(house.url), household.join(strict(house)), house.master
    scene = is_handed_it_when_replicas_know(household, house, master, holder=holder, waiter=waiter, within=3 * SOON)
    household.play(scene)
    household.leaves_nothing(master)


@pytest.mark.thorough
def test_a_master_that_was_replaced_grants_nothing_to_those_who_still_reach_it(
    household: Household, house: House
) -> None:
    """They do not even know that there are sentinels."""
    before = house.master
    deaf = household.join(f"redis://:{PASSWORD}@{HOST}:{before.port}?min_replicas=1")
    others = household.join(f"{house.url}?min_replicas=1")

    async def scene() -> None:
        await household.visit(deaf, ttl=TTL)
        lost = await deaf.acquire(NAME, ttl=TTL)
        await meanwhile(others, lambda: by_isolation(house))
        with pytest.raises(StoreUnreachable):
            await deaf.acquire("other", wait=WAIT)
        await deaf.happened(so(lambda: lost.lost))
        await household.follow(others, ttl=TTL, wait=5)

    household.play(scene())


@pytest.mark.thorough
@each_of(("blocking", by_kill), ("asyncio", by_isolation))
def test_no_grant_is_forgotten_by_a_failover_and_fences_never_fall(
    household: Household, house: House, tmp_path: Path, fail_over: Callable[[House], Server]
) -> None:
    """A lock that was given back just before may be forgotten to be free: then that takes a TTL."""
    faces = [household.join(f"{house.url}?min_replicas=1") for _ in range(3)]
    resource = Resource(tmp_path / "resource")
    household.play(take_turns_through(household, faces, resource, lambda: fail_over(house), ttl=TTL))
    assert resource.contents().refused == 0


@pytest.mark.thorough
def test_many_grants_wait_for_their_replicas_together(house: House) -> None:
    """On one connection, which is not the one that all else is said on."""

    async def scene() -> None:
        async with dibs.connect(strict(house), quiet=True) as d:
            await asyncio.gather(*(d.lock(f"lock-{number}").aacquire() for number in range(200)))

    house.master.ask("CONFIG", "RESETSTAT")
    asyncio.run(scene())
    stats = house.master.ask("INFO", "commandstats")
    [waits] = [line for line in stats.splitlines() if line.startswith("cmdstat_wait:")]
    assert int(waits.partition("calls=")[2].partition(",")[0]) < 50
