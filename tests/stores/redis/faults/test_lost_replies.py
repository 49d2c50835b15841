"""Each reply of a whole cycle is lost once: the work goes on, nobody is let in twice, and nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dibs.runtime.clock import boottime
from dibs.stores.redis.dialogue import DEAD_AFTER
from tests.chaos.colours import BOTH
from tests.servers.faults import Hold
from tests.servers.kinds import VALKEY_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.cycle import cycle
from tests.stores.redis.faults.harm import break_at_reply, has_struck, silence_reply
from tests.stores.redis.faults.party import NAME, Party, at_once, ends_within
from tests.stores.redis.rivals import so

TTL = 1.0

on_valkey_9 = pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)


def replies_of_a_cycle(colour: str, server: Server) -> int:
    """How many there are when nothing goes wrong."""
    with Proxy(server.port) as proxy:
        party = Party(colour)
        holder, waiter = party.join(proxy.url), party.join(proxy.url)
        party.play(cycle(party, holder, waiter, ttl=TTL))
        return proxy.replies


@pytest.mark.parametrize("harm", [silence_reply, break_at_reply], ids=["silence", "cut"])
@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_any_reply_may_be_lost_once(server: Server, colour: str, harm: Callable[[Proxy, int], Hold]) -> None:
    def play(nth: int) -> None:
        with Proxy(server.port) as proxy:
            fault = harm(proxy, nth)
            party = Party(colour)
            holder, waiter = party.join(proxy.url), party.join(proxy.url)
            party.play(cycle(party, holder, waiter, ttl=TTL))
            struck.update([nth] if has_struck(fault) else [])
            party.leaves_nothing(server)

    struck, count = set[int](), replies_of_a_cycle(colour, server)
    at_once(range(1, count + 1), play, hands=22)
    assert len(struck) >= count * 0.8  # the keepers have their own time, so the last ones may not be there each time


@on_valkey_9
def test_a_loops_connection_that_fell_silent_is_given_up_in_time(server: Server, proxy: Proxy) -> None:
    party = Party("asyncio")
    face = party.join(proxy.url)

    async def scene() -> None:
        await face.release(await face.acquire(NAME))
        began = boottime()
        await face.happened(so(lambda: boottime() > began + 1))
        proxy.hold_reply(of="EVALSHA")
        async with ends_within(DEAD_AFTER + 1):
            lease = await face.acquire(NAME, wait=12)
        await face.release(lease)

    party.play(scene())
    party.leaves_nothing(server)
