"""A server may forget the scripts at any time: it is told them again, and nobody notices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.events import JoinedQueue, Lost
from dibs.testing.contract.faces import Face
from tests.chaos.colours import BOTH
from tests.servers.server import Server
from tests.stores.redis.faults.party import IN_TIME, NAME, Party, ends_within
from tests.stores.redis.rivals import so

SOON = 0.5
"""An ask that was refused is asked again after a pause; this is more than enough for it."""


@pytest.fixture(params=BOTH)
def party(request: pytest.FixtureRequest, server: Server) -> Iterator[Party]:
    party = Party(request.param)
    yield party
    party.leaves_nothing(server)


@pytest.fixture
def face(party: Party, server_url: str) -> Face:
    return party.join(server_url)


def forget(server: Server) -> None:
    server.ask("SCRIPT", "FLUSH", "SYNC")


async def warm(face: Face) -> None:
    await face.release(await face.acquire("warm"))


def test_the_scripts_are_forgotten_before_an_acquire(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        await warm(face)
        forget(server)
        async with ends_within(SOON):
            lease = await face.acquire(NAME, wait=SOON)
        await face.release(lease)

    party.play(scene())


def test_the_scripts_are_forgotten_before_a_lock_is_tried(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        await warm(face)
        forget(server)
        lease = await face.try_acquire(NAME)
        assert lease is not None
        await face.release(lease)

    party.play(scene())


def test_the_scripts_are_forgotten_before_a_release(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        lease = await face.acquire(NAME)
        forget(server)
        async with ends_within(SOON):
            await face.release(lease)
        assert not server.ask("EXISTS", party.key())

    party.play(scene())


def test_the_scripts_are_forgotten_while_somebody_waits(
    party: Party, face: Face, server: Server, server_url: str
) -> None:
    waiter = party.join(server_url)

    async def follow() -> None:
        async with ends_within(10 + IN_TIME):
            lease = await waiter.acquire(NAME, wait=10)
        party.witness.enters(lease)
        party.witness.leaves(lease)
        await waiter.release(lease)

    async def scene() -> None:
        lease = await face.acquire(NAME)
        party.witness.enters(lease)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        forget(server)
        party.witness.leaves(lease)
        async with ends_within(SOON):
            await face.release(lease)
            await second.finish()

    party.play(scene())


def test_the_scripts_are_forgotten_before_a_renewal(party: Party, face: Face, server: Server) -> None:
    async def scene() -> None:
        lease = await face.acquire(NAME, ttl=1)
        asked_at = lease._hold.tenure.asked_at
        forget(server)
        await face.happened(so(lambda: lease._hold.tenure.asked_at > asked_at or lease.lost))
        lease.ensure()
        forget(server)
        await face.extend(lease)
        await face.release(lease)
        assert not face.diary.of(Lost)

    party.play(scene())


def test_the_scripts_are_forgotten_while_a_ticket_is_kept_alive(
    party: Party, face: Face, server: Server, server_url: str
) -> None:
    waiter, ttl = party.join(server_url), 0.9

    async def follow() -> None:
        lease = await waiter.acquire(NAME, ttl=ttl, wait=10)
        await waiter.release(lease)

    async def scene() -> None:
        lease = await face.acquire(NAME, ttl=30)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        expiries = f"{{{party.key()}}}~expiries"
        [owner] = server.ask("ZRANGE", expiries, "0", "-1")
        until = server.ask("ZSCORE", expiries, owner)
        forget(server)
        await face.happened(so(lambda: server.ask("ZSCORE", expiries, owner) not in (until, None)))
        assert server.ask("ZCARD", expiries) == 1
        async with ends_within(SOON):
            await face.release(lease)
            await second.finish()

    party.play(scene())
