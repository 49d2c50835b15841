"""Each reply of a whole cycle is lost once: the work goes on, nobody is let in twice, and nothing stays behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dibs.stores.redis.dialogue import DEAD_AFTER
from tests.chaos.colours import BOTH
from tests.chaos.moments import ends_within, so
from tests.servers.faults import Hold
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.cycle import harm_each
from tests.stores.redis.faults.harm import break_at_reply, is_quiet, silence_reply
from tests.stores.redis.faults.party import NAME, Party

TTL = 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("harm", [silence_reply, break_at_reply], ids=["silence", "cut"])
@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_any_reply_may_be_lost_once(server: Server, colour: str, harm: Callable[[Proxy, int], Hold]) -> None:
    harm_each(colour, server, ttl=TTL, messages=lambda proxy: proxy.replies, harm=harm)


@on_valkey_9
def test_a_loops_connection_that_fell_silent_is_given_up_in_time(server: Server, proxy: Proxy) -> None:
    party = Party("asyncio")
    face = party.join(proxy.url)

    async def scene() -> None:
        await face.release(await face.acquire(NAME))
        await face.happened(so(lambda: is_quiet(proxy, clients=1)))
        silence = proxy.hold_reply(of="EVALSHA")
        with ends_within(DEAD_AFTER + 1):
            lease = await face.acquire(NAME, wait=12)
        silence.wait(within=0)
        await face.release(lease)

    party.play(scene())
    party.leaves_nothing(server)
