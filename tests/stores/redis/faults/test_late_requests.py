"""Each request of a whole cycle comes late once, after its TTL: a server that does it then lets nobody in by it."""

from __future__ import annotations

import asyncio

import pytest

from dibs import StoreUnreachable
from dibs.runtime.clock import boottime
from tests.chaos.colours import BOTH
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.cycle import harm_each
from tests.stores.redis.faults.harm import delay_request
from tests.stores.redis.faults.party import NAME, Party

TTL = 0.6
LATE, WAIT = 1.5 * TTL, 0.3


@pytest.mark.thorough
@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_any_request_may_come_late_once(server: Server, colour: str) -> None:
    harm_each(
        colour,
        server,
        ttl=TTL,
        messages=lambda proxy: len(proxy.commands),
        harm=lambda proxy, nth: delay_request(proxy, nth, by=LATE),
    )


@pytest.mark.parametrize("is_later", [False, True], ids=["at-once", "after-the-ttl"])
@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_an_acquire_that_lands_when_its_caller_has_left_takes_nothing(
    server: Server, proxy: Proxy, colour: str, is_later: bool
) -> None:
    party = Party(colour)
    face = party.join(proxy.url)

    async def scene() -> None:
        await face.release(await face.acquire(NAME))
        fence = server.ask("GET", party.key("~fence"))
        hold = proxy.hold_request(of="EVALSHA")
        with pytest.raises(StoreUnreachable), ends_within(WAIT + IN_TIME):
            await face.acquire(NAME, ttl=TTL, wait=WAIT)
        hold.wait(within=0)
        left_at, held_back = boottime(), 1 if colour == "blocking" else 2  # a task's leave is right behind it
        if is_later:
            await face.happened(so(lambda: boottime() > left_at + TTL))
        landed = proxy.commands.count("EVALSHA")
        hold.release()
        await face.happened(so(lambda: proxy.commands.count("EVALSHA") >= landed + held_back))
        await face.happened(so(lambda: not server.ask("EXISTS", party.key())))
        if is_later or colour == "blocking":
            assert server.ask("GET", party.key("~fence")) == fence, "it was granted"

    party.play(scene())
    party.leaves_nothing(server)


@on_valkey_9
def test_an_acquire_that_was_cancelled_and_lands_after_its_leave_is_barred(server: Server, proxy: Proxy) -> None:
    party = Party("asyncio")
    face = party.join(proxy.url)

    async def scene() -> None:
        await face.release(await face.acquire(NAME))
        hold = proxy.hold_request(of="EVALSHA")
        asking = asyncio.create_task(face.acquire(NAME, ttl=30, wait=30))
        await asyncio.to_thread(hold.wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        bars = f"{{{party.key()}}}~bars"
        await face.happened(so(lambda: bool(server.ask("EXISTS", bars))))  # its leave has overtaken it
        landed = proxy.commands.count("EVALSHA")
        hold.release()
        await face.happened(so(lambda: proxy.commands.count("EVALSHA") > landed))
        assert not server.ask("EXISTS", party.key())

    party.play(scene())
    party.leaves_nothing(server)
