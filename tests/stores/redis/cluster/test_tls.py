"""A cluster that speaks TLS, to its clients and on its bus, fails over as others do."""

from __future__ import annotations

import pytest

from dibs.events import JoinedQueue
from tests.chaos.moments import ends_within
from tests.servers.certificate import Certificate
from tests.servers.cluster import Cluster
from tests.servers.kinds import Kind
from tests.stores.redis.cluster.guild import Guild
from tests.stores.redis.cluster.test_moves import SOON, TTL, WAIT, by_command
from tests.stores.redis.sentinel.household import meanwhile
from tests.stores.redis.sentinel.test_failover import goes_on


@pytest.mark.thorough
def test_a_lock_is_held_and_waited_for_through_a_failover_over_tls(
    guild: Guild, encrypting: Kind, certificate: Certificate
) -> None:
    with Cluster(encrypting, certificate=certificate) as cluster:
        holder, other = guild.join(f"{cluster.url}&min_replicas=1"), guild.join(cluster.url)

        async def scene() -> None:
            lease = await guild.enter(holder, ttl=TTL * 4)
            waiting = other.start(guild.visit(other, ttl=TTL, wait=WAIT))
            await other.seen(JoinedQueue)
            await meanwhile(holder, lambda: by_command(cluster, guild.key()))
            with ends_within(2 * SOON):
                await goes_on(holder, lease)
                await guild.leave(holder, lease)
                await waiting.finish()

        guild.play(scene())
        guild.leaves_nothing_on(cluster)
