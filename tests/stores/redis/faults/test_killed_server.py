"""The server is killed and comes back where it was, with its data or without, while one holds and others wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

import pytest

from dibs import LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue
from dibs.testing.contract.faces import Face, Started
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.faults.party import NAME, Party

TTL = 1.5
NEXT_RENEWAL = TTL / 3
WAIT = 15.0
BACK = 3.0
"""How long after a restart all who wait may take to have had their turn: they try again at least once a second."""


async def all_wait(faces: Sequence[Face], follow: Callable[[Face], Coroutine[Any, Any, None]]) -> list[Started]:
    """Each has begun to, and is in the queue."""
    waiting = [face.start(follow(face)) for face in faces]
    for face in faces:
        await face.seen(JoinedQueue)
    return waiting


@pytest.mark.parametrize("is_long", [False, True], ids=["back-at-once", "back-after-the-ttl"])
@on_valkey_9
def test_a_killed_server_that_comes_back_with_its_data_lets_nobody_in_beside_the_holder(
    party: Party, start_server: Callable[..., Server], is_long: bool
) -> None:
    server = start_server(appendonly=True)
    holder, *others = (party.join(server.url) for _ in range(3))

    async def visit(face: Face) -> None:
        with ends_within(WAIT + IN_TIME):
            lease = await party.enter(face, ttl=TTL, wait=WAIT)
        await party.leave_somehow(face, lease, server)

    async def scene() -> None:
        loss = Loss()
        lease = await party.enter(holder, ttl=TTL, on_lost=loss)
        waiting = await all_wait(others, visit)
        server.kill()
        if is_long:
            assert "ran out" in loss.reason(lease)
        server.restart()
        with suppress(LeaseLost, StoreUnreachable):
            await party.leave(holder, lease)
        with ends_within(TTL + BACK):
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

    async def follow(face: Face) -> None:
        with ends_within(WAIT + IN_TIME):
            lease = await face.acquire(NAME, ttl=TTL, wait=WAIT)
        party.witness.counts(lease)
        await party.leave_somehow(face, lease, server)

    async def scene() -> None:
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        party.witness.counts(lease)
        waiting = await all_wait(others, follow)
        server.kill()
        server.restart(empty=True)
        with ends_within(NEXT_RENEWAL + IN_TIME):
            await holder.happened(so(lambda: lease.lost))
        assert "no longer knows it" in loss.reason(lease)
        with ends_within(TTL + BACK):
            for each in waiting:
                await each.finish()
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        await party.visit(holder, ttl=TTL)

    party.play(scene())
    party.leaves_nothing(server)
