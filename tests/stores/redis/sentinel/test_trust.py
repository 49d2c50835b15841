"""Whom to believe: sentinels that disagree, a master that is none, and one that some still reach."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dibs import StoreUnreachable
from dibs.errors import StoreRefused
from dibs.stores.redis.sentinel.endpoint import SentinelEndpoint
from dibs.stores.redis.sentinel.service import service_of
from dibs.stores.redis.sentinel.watch import Watch
from tests.chaos.moments import ends_within, so
from tests.chaos.resource import Resource, StaleFence
from tests.servers.ports import HOST
from tests.servers.proxy import Proxy
from tests.servers.sentinels import PASSWORD, SERVICE, House
from tests.stores.redis.faults.party import PATIENCE
from tests.stores.redis.sentinel.household import SOON, Household, nothing_is_left_running


def test_a_server_that_says_itself_that_it_is_no_master_is_not_asked(house: House) -> None:
    replica = house.replicas[0]
    house.master.ask("REPLICAOF", HOST, str(replica.port))
    endpoint = SentinelEndpoint(Watch(service_of(house.url)))
    with pytest.raises(StoreRefused, match="says itself that it is a slave"):
        endpoint.connect(PATIENCE)
    with pytest.raises(StoreRefused, match="says itself that it is a slave"):
        asyncio.run(endpoint.aconnect(PATIENCE))
    endpoint.close()
    nothing_is_left_running()


@pytest.mark.thorough
def test_a_connection_to_a_server_that_was_demoted_is_left(household: Household, house: House) -> None:
    """By hand, so nobody tells: that it takes no writes any more is all that is known."""
    face, before, after = household.join(house.url), house.master, house.replicas[0]

    async def scene() -> None:
        await household.visit(face, ttl=5)
        before.ask("CONFIG", "SET", "replica-read-only", "yes")
        before.ask("REPLICAOF", HOST, str(after.port))
        with pytest.raises(StoreUnreachable):
            await face.acquire("other", wait=0.5)
        after.ask("REPLICAOF", "NO", "ONE")
        for sentinel in house.sentinels:
            sentinel.ask("SENTINEL", "REMOVE", SERVICE)
            sentinel.ask("SENTINEL", "MONITOR", SERVICE, HOST, str(after.port), "2")
        with ends_within(3 * SOON):
            await household.visit(face, ttl=5)
        assert household.told_by(after)
        assert not household.told_by(before)

    household.play(scene())


@pytest.mark.thorough
def test_one_sentinel_that_answers_is_enough(household: Household, house: House) -> None:
    face = household.join(house.url)
    house.sentinels[0].kill()
    house.sentinels[2].pause()

    async def scene() -> None:
        with ends_within(2 * SOON):
            await household.visit(face, ttl=5)

    household.play(scene())


@pytest.fixture
def way(house: House) -> Iterator[Proxy]:
    """To one of the sentinels."""
    with Proxy(house.sentinels[2].port) as proxy:
        yield proxy


@pytest.mark.thorough
def test_who_does_not_hear_of_the_failover_is_fenced_off_and_comes_after_all_others_when_it_does(
    household: Household, house: House, way: Proxy, tmp_path: Path
) -> None:
    """Its only sentinel does not reach it; the old master, which it still reaches, was cut off from all others."""
    deaf, others = (
        household.join(f"redis+sentinel://:{PASSWORD}@{HOST}:{way.port}/{SERVICE}"),
        household.join(house.url),
    )
    resource, before = Resource(tmp_path / "resource"), house.master

    async def scene() -> None:
        await household.follow(deaf, ttl=5)
        way.blackhole()
        house.copies_nothing(before)
        late = await deaf.acquire("stock", ttl=5)
        house.cut_off(before)
        house.next_master(before)
        with ends_within(SOON):
            lease = await others.acquire("stock", ttl=5)
        resource.write(lease.fence, "the new master's")
        with pytest.raises(StaleFence):
            resource.write(late.fence, "the old master's")
        way.resume()
        await deaf.happened(so(lambda: late.lost))
        await others.release(lease)
        after = await deaf.acquire("stock", wait=5)
        resource.write(after.fence, "mine, in turn")
        await deaf.release(after)
        assert resource.contents().refused == 1

    household.play(scene())
