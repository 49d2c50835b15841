"""The connection ends at any byte of a call: the lock is had all the same, or given back all the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from dibs import StoreUnreachable
from dibs.testing.contract.faces import Face
from tests.chaos.colours import BOTH
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.faults import Fault, Lane
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.harm import is_quiet
from tests.stores.redis.faults.party import NAME, PATIENCE, Party, at_once

TTL = 30
"""So long that what is free again soon was given back, and did not expire."""
WAIT = 5
HANDS = 24

Cut = Callable[[], Fault]
Turn = Callable[[Party, Face, Cut], Coroutine[Any, Any, None]]


def at_requests(proxy: Proxy, after: int) -> Fault:
    return proxy.cut_requests(after=after)


def at_replies(proxy: Proxy, after: int) -> Fault:
    return proxy.cut_replies(after=after)


@pytest.fixture(params=[at_requests, at_replies], ids=["requests", "replies"])
def cut(request: pytest.FixtureRequest) -> Callable[[Proxy, int], Fault]:
    made: Callable[[Proxy, int], Fault] = request.param
    return made


class Sizes(Proxy):
    """Counts bytes, to know where a call ends."""

    def __init__(self, upstream: int) -> None:
        super().__init__(upstream)
        self.sent = self.received = 0

    async def _share(self, lane: Lane, message: bytes) -> tuple[bytes, Fault | None]:
        if lane is self._requests:
            self.sent += len(message)
        else:
            self.received += len(message)
        return await super()._share(lane, message)


def sizes(colour: str, server: Server) -> dict[Turn, tuple[int, int]]:
    """Bytes to and from the server in each call, on a connection that was there before."""
    found: dict[Turn, tuple[int, int]] = {}
    with Sizes(server.port) as proxy:
        party = Party(colour)
        face = party.join(proxy.url)

        async def scene() -> None:
            await get_ready(face, proxy)
            before = proxy.sent, proxy.received
            lease = await face.acquire(NAME, ttl=TTL, wait=WAIT)
            between = proxy.sent, proxy.received
            await face.release(lease)
            found[cut_the_asking] = between[0] - before[0], between[1] - before[1]
            found[cut_the_release] = proxy.sent - between[0], proxy.received - between[1]

        party.play(scene())
    return found


def places(cut: Callable[[Proxy, int], Fault], colour: str, size: int) -> list[int]:
    """Where to cut. Of a request the server sees a part, and the client nothing: so the colours share its bytes."""
    if cut is at_replies:
        return list(range(size + 1))
    return sorted({0, *range(BOTH.index(colour), size, len(BOTH)), size})


async def get_ready(face: Face, proxy: Proxy) -> None:
    """Use the lock once, and wait until all is quiet again: a new client asks how its server is set up."""
    await face.release(await face.acquire(NAME, ttl=TTL))
    await face.happened(so(lambda: is_quiet(proxy, clients=1)))


async def cut_the_asking(party: Party, face: Face, cut: Cut) -> None:
    fault = cut()
    with ends_within(WAIT + IN_TIME):
        lease = await party.enter(face, ttl=TTL, wait=WAIT)
    fault.wait(within=1)
    with suppress(StoreUnreachable):  # the connection may have ended right behind the answer
        await party.leave(face, lease)


async def cut_the_release(party: Party, face: Face, cut: Cut) -> None:
    lease = await party.enter(face, ttl=TTL, wait=WAIT)
    fault = cut()
    with suppress(StoreUnreachable), ends_within(PATIENCE + IN_TIME):
        await party.leave(face, lease)
    fault.wait(within=1)


@pytest.mark.thorough
@pytest.mark.parametrize("colour", BOTH)
@pytest.mark.parametrize("turn", [cut_the_asking, cut_the_release])
@on_valkey_9
def test_a_lock_is_had_and_given_back_though_the_connection_is_cut_at_any_byte_of_the_call(
    server: Server, colour: str, cut: Callable[[Proxy, int], Fault], turn: Turn
) -> None:
    def play(share: tuple[int, ...]) -> None:
        with Proxy(server.port) as proxy:
            party = Party(colour)
            face = party.join(proxy.url)
            party.play(scene(party, face, proxy, share))
            party.leaves_nothing(server)

    async def scene(party: Party, face: Face, proxy: Proxy, share: tuple[int, ...]) -> None:
        await get_ready(face, proxy)
        for place in share:
            await turn(party, face, lambda at=place: cut(proxy, at))  # type: ignore[misc]
            await face.happened(so(lambda: not server.ask("EXISTS", party.key())))

    size = sizes(colour, server)[turn][0 if cut is at_requests else 1]
    everywhere = places(cut, colour, size)
    at_once([tuple(everywhere[start::HANDS]) for start in range(HANDS)], play, hands=HANDS)
