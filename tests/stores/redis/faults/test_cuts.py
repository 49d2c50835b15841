"""The connection ends at any byte of a call: the lock is had all the same, or given back all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from dibs import StoreUnreachable
from dibs.testing.contract.faces import Face
from tests.chaos.colours import BOTH
from tests.servers.faults import Fault, Lane
from tests.servers.kinds import VALKEY_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.faults.harm import is_quiet
from tests.stores.redis.faults.party import IN_TIME, NAME, PATIENCE, Party, at_once, ends_within
from tests.stores.redis.rivals import so

TTL = 30
"""So long that what is free again soon was given back, and did not expire."""
HANDS = 8
STRIDE = 7

on_valkey_9 = pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)


def at_requests(proxy: Proxy, after: int) -> Fault:
    return proxy.cut_requests(after=after)


def at_replies(proxy: Proxy, after: int) -> Fault:
    return proxy.cut_replies(after=after)


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


def sizes(colour: str, server: Server, *, of_the_release: bool) -> tuple[int, int]:
    """Bytes to and from the server in one call, on a connection that was there before."""
    found: list[tuple[int, int]] = []
    with Sizes(server.port) as proxy:
        party = Party(colour)
        face = party.join(proxy.url)

        async def scene() -> None:
            await get_ready(face, proxy)
            before = proxy.sent, proxy.received
            lease = await face.acquire(NAME, ttl=TTL, wait=5)
            if of_the_release:
                before = proxy.sent, proxy.received
                await face.release(lease)
            found.append((proxy.sent - before[0], proxy.received - before[1]))

        party.play(scene())
    return found[0]


async def get_ready(face: Face, proxy: Proxy) -> None:
    """Use the lock once, and wait until all is quiet again: a new client asks how its server is set up."""
    await face.release(await face.acquire(NAME, ttl=TTL))
    await face.happened(so(lambda: is_quiet(proxy, clients=1)))


def places(size: int) -> list[int]:
    """Before the first byte, after the last one, and on the way."""
    return sorted({*range(0, size, STRIDE), 1, size - 1, size})


def shares(all_places: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(all_places[start::HANDS]) for start in range(HANDS)]


@pytest.fixture(params=[at_requests, at_replies], ids=["requests", "replies"])
def cut(request: pytest.FixtureRequest) -> Callable[[Proxy, int], Fault]:
    made: Callable[[Proxy, int], Fault] = request.param
    return made


@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_a_lock_is_had_though_the_connection_is_cut_at_any_byte_of_the_asking(
    server: Server, colour: str, cut: Callable[[Proxy, int], Fault]
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
            fault = cut(proxy, place)
            async with ends_within(5 + IN_TIME):
                lease = await face.acquire(NAME, ttl=TTL, wait=5)
            fault.wait(within=1)
            party.witness.enters(lease)
            party.witness.leaves(lease)
            with suppress(StoreUnreachable):  # the connection may have ended right behind the answer
                await face.release(lease)
            await face.happened(so(lambda: not server.ask("EXISTS", party.key())))

    size = sizes(colour, server, of_the_release=False)[0 if cut is at_requests else 1]
    at_once(shares(places(size)), play)


@pytest.mark.parametrize("colour", BOTH)
@on_valkey_9
def test_a_lock_is_given_back_though_the_connection_is_cut_at_any_byte_of_the_release(
    server: Server, colour: str, cut: Callable[[Proxy, int], Fault]
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
            lease = await face.acquire(NAME, ttl=TTL, wait=5)
            party.witness.enters(lease)
            fault = cut(proxy, place)
            party.witness.leaves(lease)
            with suppress(StoreUnreachable):
                async with ends_within(PATIENCE + IN_TIME):
                    await face.release(lease)
            fault.wait(within=1)
            await face.happened(so(lambda: not server.ask("EXISTS", party.key())))

    size = sizes(colour, server, of_the_release=True)[0 if cut is at_requests else 1]
    at_once(shares(places(size)), play)
