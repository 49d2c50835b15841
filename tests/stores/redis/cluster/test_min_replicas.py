"""What is granted in a cluster is on the replicas of its own master, or it is not granted; other masters go on."""

from __future__ import annotations

from pathlib import Path

import pytest

import dibs
from dibs import StoreUnreachable
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.chaos.resource import Resource
from tests.servers.cluster import Cluster
from tests.servers.server import Server
from tests.stores.redis.cluster.guild import Guild
from tests.stores.redis.faults.party import NAME
from tests.stores.redis.seconded import is_handed_it_when_replicas_know, take_turns_through
from tests.stores.redis.sentinel.household import meanwhile

TTL = 2.0
WAIT = 0.6
SOON = 2.0


def strict(cluster: Cluster) -> str:
    return f"{cluster.url}?min_replicas=1"


def elsewhere(guild: Guild, cluster: Cluster, master: Server) -> str:
    """The name of a lock that another master has."""
    return next(name for name in "abcdefgh" if cluster.master_of(guild.key(name)) is not master)


def test_what_it_promises_is_told() -> None:
    with dibs.connect("redis+cluster://one", min_replicas=1, quiet=True) as d:
        assert d.guarantee.level == "fenced"
        assert "known to 1 of its replicas" in d.guarantee.durability
        assert "within a second of each other" in d.guarantee.clocks


def test_without_its_replica_a_master_grants_nothing_and_leaves_nothing_and_the_others_go_on(
    guild: Guild, cluster: Cluster
) -> None:
    face, master = guild.join(strict(cluster)), cluster.master_of(guild.key())
    other = elsewhere(guild, cluster, master)

    async def scene() -> None:
        await guild.visit(face, ttl=TTL)
        theirs = await face.acquire(other, ttl=TTL)
        cluster.copies_nothing(master)
        with ends_within(WAIT + IN_TIME), pytest.raises(StoreUnreachable) as refused:
            await face.acquire(NAME, ttl=30, wait=WAIT)
        assert "0 of its replicas took it over, not 1" in refused.value.why
        assert not refused.value.is_outage
        await face.happened(so(lambda: not master.ask("EXISTS", guild.key())))
        await face.extend(theirs)
        await face.release(theirs)
        with ends_within(WAIT):
            await face.release(await face.acquire(other, ttl=TTL))
        cluster.heal(master)
        with ends_within(2 * SOON):
            await guild.visit(face, ttl=TTL)

    guild.play(scene())
    guild.leaves_nothing_on(cluster)


@pytest.mark.thorough
def test_a_lease_of_a_master_whose_replica_stands_still_is_lost_in_time_and_no_other(
    guild: Guild, cluster: Cluster
) -> None:
    face, master = guild.join(strict(cluster)), cluster.master_of(guild.key())
    other, replica = elsewhere(guild, cluster, master), cluster.replica_of(master)

    async def scene() -> None:
        loss = Loss()
        lease, theirs = await face.acquire(NAME, ttl=TTL, on_lost=loss), await face.acquire(other, ttl=TTL)
        replica.pause()
        await face.happened(so(lambda: lease.lost))
        assert "ran out" in loss.reason(lease)
        theirs.ensure()
        replica.resume()
        await face.release(theirs)

    guild.play(scene())


@pytest.mark.thorough
def test_who_is_handed_a_lock_has_it_when_the_replica_does(guild: Guild, cluster: Cluster) -> None:
    holder, waiter = guild.join(cluster.url), guild.join(strict(cluster))
    master, soon = cluster.master_of(guild.key()), 2 * SOON
    guild.play(is_handed_it_when_replicas_know(guild, cluster, master, holder=holder, waiter=waiter, within=soon))
    guild.leaves_nothing_on(cluster)


@pytest.mark.thorough
def test_a_master_that_was_replaced_grants_nothing_to_those_who_hear_of_it_alone(
    guild: Guild, cluster: Cluster
) -> None:
    before = cluster.master_of(guild.key())
    deaf = guild.join(f"{cluster.url_of(before)}?min_replicas=1")
    others = guild.join(f"{cluster.url_without(before)}?min_replicas=1")

    async def scene() -> None:
        for face in (others, deaf):
            await guild.visit(face, ttl=TTL)
        lost = await guild.enter(deaf, ttl=TTL)
        await meanwhile(others, lambda: cluster.isolate(before))
        for face in (deaf, others):  # the new one has no replica yet, either
            with pytest.raises(StoreUnreachable, match="0 of its replicas"):
                await face.acquire(f"{{{guild.key()}}}2", wait=2 * WAIT)
        await deaf.happened(so(lambda: lost.lost))
        await meanwhile(others, lambda: cluster.rejoin(before))
        with ends_within(TTL + SOON):
            await guild.visit(others, ttl=TTL)
            await guild.visit(deaf, ttl=TTL)

    guild.play(scene())
    guild.leaves_nothing_on(cluster)


@pytest.mark.thorough
def test_no_grant_is_forgotten_by_a_failover_and_fences_never_fall(
    guild: Guild, cluster: Cluster, tmp_path: Path
) -> None:
    faces = [guild.join(strict(cluster)) for _ in range(3)]
    master, resource = cluster.master_of(guild.key()), Resource(tmp_path / "resource")

    def fail_over() -> None:
        master.kill()
        cluster.next_master(master, guild.key())
        master.start()  # as the replica that is missing

    guild.play(take_turns_through(guild, faces, resource, fail_over, ttl=TTL))
    assert resource.contents().refused == 0
