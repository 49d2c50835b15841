"""Slots change their master while locks are held and waited for: by failover, by kill and by resharding."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

import dibs
from dibs import StoreUnreachable
from dibs.events import JoinedQueue, Lost
from dibs.stores.redis.cluster.slots import slot_of
from tests.chaos.fleet import until
from tests.chaos.moments import ends_within, so
from tests.servers.cluster import Cluster
from tests.servers.kinds import REDIS
from tests.stores.redis.cluster.guild import Guild
from tests.stores.redis.faults.party import NAME
from tests.stores.redis.sentinel.household import meanwhile, thorough
from tests.stores.redis.sentinel.test_failover import goes_on

TTL = 4.0
WAIT = 20.0
SOON = 2.0
"""Servers are asked once a second where the slots are."""

Move = Callable[[Cluster, str], None]


def by_command(cluster: Cluster, key: str) -> None:
    """Its replica takes over."""
    cluster.fail_over(cluster.master_of(key))


def by_kill(cluster: Cluster, key: str) -> None:
    """Its master dies."""
    master = cluster.master_of(key)
    master.ask("WAIT", "1", "1000")
    master.kill()
    cluster.next_master(master, key)


def by_resharding(cluster: Cluster, key: str) -> None:
    """Its slot is moved."""
    source = cluster.master_of(key)
    target = next(master for master in cluster.masters() if master is not source)
    cluster.move(slot_of(key.encode()), source, target)
    until(cluster.is_whole)


def each_move(*cases: Any) -> pytest.MarkDecorator:
    """Pairs of a colour and a move."""
    return pytest.mark.parametrize(("guild", "move"), cases, indirect=["guild"])


@each_move(
    ("asyncio", by_resharding),
    *thorough(("blocking", by_resharding), ("blocking", by_kill), ("asyncio", by_kill), ("asyncio", by_command)),
)
def test_a_holder_keeps_its_lease_when_its_slot_moves_and_those_who_wait_get_it_next(
    guild: Guild, cluster: Cluster, move: Move
) -> None:
    holder, *others = (guild.join(cluster.url) for _ in range(3))

    async def scene() -> None:
        lease = await guild.enter(holder, ttl=TTL * 4)
        waiting = [face.start(guild.visit(face, ttl=TTL * 4, wait=WAIT)) for face in others]
        for face in others:
            await face.seen(JoinedQueue)
        await meanwhile(holder, lambda: move(cluster, guild.key()))
        with ends_within(SOON):
            await goes_on(holder, lease)
        lease.ensure()
        with ends_within(2 * SOON):
            await guild.leave(holder, lease)
            for each in waiting:
                await each.finish()
        assert not holder.diary.of(Lost)

    guild.play(scene())
    guild.leaves_nothing_on(cluster)


@pytest.mark.thorough
@pytest.mark.parametrize("server_kind", [REDIS], ids=str, indirect=True)
@each_move(("blocking", by_command), ("asyncio", by_kill), ("blocking", by_resharding))
def test_it_is_the_same_with_redis(guild: Guild, cluster: Cluster, move: Move) -> None:
    face = guild.join(cluster.url)

    async def scene() -> None:
        await guild.visit(face, ttl=TTL)
        await meanwhile(face, lambda: move(cluster, guild.key()))
        with ends_within(SOON):
            await guild.visit(face, ttl=TTL)

    guild.play(scene())
    guild.leaves_nothing_on(cluster)


@pytest.mark.thorough
def test_a_master_that_is_silent_does_not_cost_the_leases_of_the_others(guild: Guild, cluster: Cluster) -> None:
    face, names = guild.join(cluster.url), ["a", "b", "c", "d", "e", "f"]

    async def scene() -> None:
        leases = {name: await face.acquire(name, ttl=TTL) for name in names}
        silent = cluster.master_of(guild.key("a"))
        asked_at = {name: lease._hold.tenure.asked_at for name, lease in leases.items()}
        silent.pause()
        other = next(server for server in cluster.servers if server is not silent)
        elsewhere = [name for name in names if cluster.master_of(guild.key(name), by=other) is not silent]
        assert elsewhere
        assert "a" not in elsewhere
        await face.happened(so(lambda: all(leases[name]._hold.tenure.asked_at > asked_at[name] for name in elsewhere)))
        silent.resume()
        for name in elsewhere:
            leases[name].ensure()
            await face.release(leases[name])

    guild.play(scene())


@pytest.mark.thorough
def test_no_waiter_is_lost_when_a_slot_with_a_hundred_locks_and_a_thousand_waiters_moves(cluster: Cluster) -> None:
    names = [f"{NAME}-{number}:{{shop}}" for number in range(100)]
    served: dict[str, list[int]] = defaultdict(list)

    async def turn(d: dibs.Dibs, name: str) -> None:
        lease = await d.lock(name, ttl=30, wait=60).aacquire()
        served[name].append(lease.fence)
        try:
            await lease.arelease()
        except StoreUnreachable:
            assert not lease.lost

    async def scene() -> None:
        async with dibs.connect(cluster.url, quiet=True) as holder, dibs.connect(cluster.url, quiet=True) as others:
            leases = await asyncio.gather(*(holder.lock(name, ttl=30).aacquire() for name in names))
            turns = [asyncio.create_task(turn(others, name)) for name in names for _ in range(10)]
            tickets = others._engine.desk.tickets
            await asyncio.to_thread(until, lambda: len(tickets) == 1000)
            await asyncio.to_thread(by_resharding, cluster, f"dibs:{names[0]}")
            for lease in leases:
                lease.ensure()
            await asyncio.gather(*(lease.arelease() for lease in leases))
            async with asyncio.timeout(30):
                await asyncio.gather(*turns)
        assert all(min(served[lease.name]) > lease.fence for lease in leases)

    asyncio.run(scene())
    assert {len(fences) for fences in served.values()} == {10}
    assert all(fences == sorted(set(fences)) for fences in served.values())
