"""A master is replaced, and what it was told last is forgotten; or some still reach it, and it knows of nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from dibs import LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue
from tests.chaos.losses import Loss
from tests.chaos.moments import ends_within, so
from tests.chaos.resource import Resource, StaleFence
from tests.servers.cluster import Cluster
from tests.servers.server import Server
from tests.stores.redis.cluster.guild import Guild
from tests.stores.redis.faults.party import NAME
from tests.stores.redis.sentinel.household import meanwhile
from tests.stores.redis.sentinel.test_failover import goes_on

TTL = 4.0
WAIT = 20.0
SOON = 2.0

pytestmark = pytest.mark.thorough


def dies(cluster: Cluster, master: Server, key: str) -> None:
    master.kill()
    cluster.next_master(master, key)


def test_a_failover_that_forgets_the_last_lock_is_told_to_its_holder_and_fences_rise(
    guild: Guild, cluster: Cluster, tmp_path: Path
) -> None:
    holder, newcomer = guild.join(cluster.url), guild.join(cluster.url)
    resource, master = Resource(tmp_path / "resource"), cluster.master_of(guild.key())

    async def scene() -> None:
        await guild.visit(newcomer, ttl=TTL)
        cluster.copied()
        cluster.copies_nothing(master)
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        resource.write(lease.fence, "forgotten")
        await meanwhile(holder, lambda: dies(cluster, master, guild.key()))
        with ends_within(TTL / 3 + SOON):
            await holder.happened(so(lambda: lease.lost))
        assert "no longer knows it" in loss.reason(lease)
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        for face in (newcomer, holder):
            later = await face.acquire(NAME, ttl=TTL, wait=5)
            resource.write(later.fence, "in turn")
            await face.release(later)

    guild.play(scene())
    assert resource.contents().refused == 0
    guild.leaves_nothing_on(cluster)


def test_those_who_wait_ask_again_at_a_master_that_has_forgotten_their_queue(guild: Guild, cluster: Cluster) -> None:
    holder, *others = (guild.join(cluster.url) for _ in range(4))
    master = cluster.master_of(guild.key())

    async def scene() -> None:
        lease = await guild.enter(holder, ttl=TTL * 4)
        cluster.copied()
        cluster.copies_nothing(master)
        waiting = [face.start(guild.visit(face, ttl=TTL, wait=WAIT)) for face in others]
        for face in others:
            await face.seen(JoinedQueue)
        await meanwhile(holder, lambda: dies(cluster, master, guild.key()))
        with ends_within(2 * SOON):
            await goes_on(holder, lease)
            with suppress(StoreUnreachable):
                await guild.leave(holder, lease)
            for each in waiting:
                await each.finish()

    guild.play(scene())
    guild.leaves_nothing_on(cluster)


def test_who_hears_of_the_old_master_alone_is_fenced_off_and_comes_after_all_others_when_that_is_over(
    guild: Guild, cluster: Cluster, tmp_path: Path
) -> None:
    """The rest of the cluster has another master for the slot, and the old one does not know."""
    before = cluster.master_of(guild.key())
    deaf, others = guild.join(cluster.url_of(before)), guild.join(cluster.url_without(before))
    resource = Resource(tmp_path / "resource")

    async def scene() -> None:
        await guild.follow(deaf, ttl=TTL)
        cluster.copied()
        cluster.copies_nothing(before)
        late = await deaf.acquire(NAME, ttl=TTL)
        await meanwhile(others, lambda: cluster.isolate(before))
        with ends_within(SOON):
            lease = await others.acquire(NAME, ttl=TTL)
        resource.write(lease.fence, "the new master's")
        await deaf.extend(late)  # the old one still says yes
        with pytest.raises(StaleFence):
            resource.write(late.fence, "the old master's")
        await meanwhile(others, lambda: cluster.rejoin(before))
        await deaf.happened(so(lambda: late.lost))
        await others.release(lease)
        after = await deaf.acquire(NAME, wait=5)
        resource.write(after.fence, "mine, in turn")
        await deaf.release(after)

    guild.play(scene())
    assert resource.contents().refused == 1
    guild.leaves_nothing_on(cluster)
