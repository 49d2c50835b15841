"""The server is killed and comes back where it was, with its data or without, while one holds and others wait."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from dibs import LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue
from dibs.testing.contract.faces import Face
from tests.chaos.colours import BOTH
from tests.chaos.losses import Loss
from tests.servers.kinds import VALKEY_9
from tests.servers.server import Server
from tests.stores.redis.faults.party import IN_TIME, NAME, Party, ends_within
from tests.stores.redis.rivals import so

TTL = 1.5
WAIT = 15.0
BACK = 3.0
"""How long after a restart all who wait may take to have had their turn: they try again at least once a second."""

on_valkey_9 = pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)


@pytest.fixture(params=BOTH)
def party(request: pytest.FixtureRequest) -> Party:
    return Party(request.param)


async def follow(party: Party, face: Face, *, alone: bool) -> None:
    async with ends_within(WAIT + IN_TIME):
        lease = await face.acquire(NAME, ttl=TTL, wait=WAIT)
    if alone:
        party.witness.enters(lease)
        party.witness.leaves(lease)
    else:
        party.witness.counts(lease)
    with suppress(StoreUnreachable):
        await face.release(lease)


@pytest.mark.parametrize("is_long", [False, True], ids=["back-at-once", "back-after-the-ttl"])
@on_valkey_9
def test_a_killed_server_that_comes_back_with_its_data_lets_nobody_in_beside_the_holder(
    party: Party, start_server: Callable[..., Server], is_long: bool
) -> None:
    server = start_server(appendonly=True)
    holder, *others = (party.join(server.url) for _ in range(3))

    async def scene() -> None:
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        party.witness.enters(lease)
        waiting = [face.start(follow(party, face, alone=True)) for face in others]
        for face in others:
            await face.seen(JoinedQueue)
        server.kill()
        if is_long:
            assert "ran out" in loss.reason(lease)
        server.restart()
        party.witness.leaves(lease)
        with suppress(LeaseLost, StoreUnreachable):
            await holder.release(lease)
        async with ends_within(TTL + BACK):
            for each in waiting:
                await each.finish()

    party.play(scene())
    party.leaves_nothing(server)


@on_valkey_9
def test_a_killed_server_that_comes_back_without_its_data_is_noticed_at_the_next_renewal(
    party: Party, private_server: Server
) -> None:
    server = private_server
    holder, *others = (party.join(server.url) for _ in range(3))

    async def scene() -> None:
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        party.witness.counts(lease)
        waiting = [face.start(follow(party, face, alone=False)) for face in others]
        for face in others:
            await face.seen(JoinedQueue)
        server.kill()
        server.restart(empty=True)
        async with ends_within(TTL):
            await holder.happened(so(lambda: lease.lost))
        assert loss.reason(lease)
        async with ends_within(TTL + BACK):
            for each in waiting:
                await each.finish()
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        await follow(party, holder, alone=True)

    party.play(scene())
    party.leaves_nothing(server)
