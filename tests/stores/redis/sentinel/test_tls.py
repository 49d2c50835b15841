"""Servers and sentinels that speak TLS to each other and to their clients fail over as others do."""

from __future__ import annotations

import pytest

from dibs.events import JoinedQueue
from tests.chaos.moments import ends_within, so
from tests.servers.certificate import Certificate
from tests.servers.kinds import Kind
from tests.servers.sentinels import House
from tests.stores.redis.sentinel.household import SOON, Household, meanwhile, nothing_is_left_running
from tests.stores.redis.sentinel.test_failover import TTL, WAIT, goes_on


@pytest.mark.thorough
def test_a_lock_is_held_and_waited_for_through_a_failover_over_tls(
    household: Household, encrypting: Kind, certificate: Certificate
) -> None:
    with House(encrypting, certificate=certificate) as house:
        holder, other = household.join(house.url), household.join(house.url)

        async def scene() -> None:
            lease = await household.enter(holder, ttl=TTL * 3)
            waiting = other.start(household.visit(other, ttl=TTL, wait=WAIT))
            await other.seen(JoinedQueue)
            house.copied()
            before = house.master
            await meanwhile(holder, house.fail_over)
            with ends_within(SOON):
                await goes_on(holder, lease)
                await holder.happened(so(lambda: household.told_by(before) == 0))
                await household.leave(holder, lease)
                await waiting.finish()

        household.play(scene())
        nothing_is_left_running()
