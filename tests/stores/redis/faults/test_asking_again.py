"""Whoever hears that its connection was lost, and asks again at once, is not asked on the same one."""

from __future__ import annotations

import pytest

from dibs import Lease, StoreUnreachable
from tests.chaos.moments import so
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.harm import has_struck
from tests.stores.redis.faults.party import Party


@on_valkey_9
def test_who_asks_again_at_once_is_answered(party: Party, server: Server, proxy: Proxy) -> None:
    face = party.join(proxy.url)

    async def extend_twice(lease: Lease) -> None:
        with pytest.raises(StoreUnreachable):
            await face.extend(lease)
        await face.extend(lease)

    async def scene() -> None:
        lease = await party.enter(face, ttl=20)
        held = proxy.hold_reply(of="EVALSHA")
        asking = face.start(extend_twice(lease))
        await face.happened(so(lambda: has_struck(held)))
        proxy.cut()
        await asking.finish()
        await party.leave(face, lease)

    party.play(scene())
    party.leaves_nothing(server)
