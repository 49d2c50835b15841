"""The server forgets, or hangs up: holders learn of it at the next renewal, and those who wait are served again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dibs import Lease, LeaseLost, StoreUnreachable
from dibs.events import JoinedQueue, Lost
from dibs.runtime.clock import boottime
from dibs.testing.contract.faces import Face
from tests.chaos.colours import BOTH
from tests.chaos.losses import Loss
from tests.servers.kinds import VALKEY_9
from tests.servers.server import Server
from tests.stores.redis.faults.party import IN_TIME, NAME, Party, ends_within
from tests.stores.redis.rivals import so

TTL = 1.0
NEXT_RENEWAL = TTL / 3
SOON = 1.0
"""By then a connection was made anew."""
OLD = "?protocol=2"
QUEUE = ["~line", "~tickets", "~expiries"]

on_valkey_9 = pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)


@pytest.fixture(params=BOTH)
def party(request: pytest.FixtureRequest) -> Party:
    return Party(request.param)


def all_keys(server: Server, party: Party) -> None:
    server.ask("FLUSHALL")


def the_lock(server: Server, party: Party) -> None:
    assert server.ask("DEL", party.key()) == 1


def the_lock_and_its_queue(server: Server, party: Party) -> None:
    server.ask("DEL", party.key(), *(f"{{{party.key()}}}{part}" for part in QUEUE))


@pytest.mark.parametrize("forget", [all_keys, the_lock, the_lock_and_its_queue])
def test_a_holder_learns_at_the_next_renewal_that_it_was_forgotten(
    party: Party, server: Server, forget: Callable[[Server, Party], None]
) -> None:
    holder, waiter = party.join(server.url), party.join(server.url)

    async def follow() -> None:
        lease = await waiter.acquire(NAME, ttl=TTL, wait=10)
        party.witness.counts(lease)
        await waiter.release(lease)

    async def scene() -> None:
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        party.witness.counts(lease)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        async with ends_within(NEXT_RENEWAL + IN_TIME):
            forget(server, party)
            await holder.happened(so(lambda: lease.lost))
        assert "no longer knows it" in loss.reason(lease)
        async with ends_within(TTL):
            await second.finish()  # nobody waits longer than for the expiry that was known
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        again = await holder.acquire(NAME, ttl=TTL, wait=5)
        party.witness.counts(again)
        await holder.release(again)

    party.play(scene())
    party.leaves_nothing(server)


@pytest.mark.parametrize("part", [*QUEUE, "~fence", "~index"])
@on_valkey_9
def test_a_part_of_a_lock_may_be_deleted_while_it_is_held_and_waited_for(
    party: Party, server: Server, part: str
) -> None:
    holder, waiter = party.join(server.url), party.join(server.url)

    async def follow() -> None:
        async with ends_within(10 + IN_TIME):
            lease = await waiter.acquire(NAME, ttl=TTL, wait=10)
        party.witness.enters(lease)
        party.witness.leaves(lease)
        await waiter.release(lease)

    async def scene() -> None:
        lease = await holder.acquire(NAME, ttl=TTL)
        party.witness.enters(lease)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        key = f"{{{party.key()}}}{part}" if part in QUEUE else party.key(part)
        assert server.ask("DEL", key) == 1
        lease.ensure()
        party.witness.leaves(lease)
        await holder.release(lease)
        async with ends_within(2 * TTL):
            await second.finish()

    party.play(scene())
    party.leaves_nothing(server)


@pytest.mark.parametrize(
    ("options", "sorts"), [("", ["pubsub"]), ("", ["normal", "pubsub"]), (OLD, ["normal"]), (OLD, ["pubsub"])]
)
@on_valkey_9
def test_a_waiter_whose_connections_were_killed_is_served_again(
    party: Party, server: Server, sorts: list[str], options: str
) -> None:
    holder, waiter = party.join(server.url + options), party.join(server.url + options)

    async def follow() -> None:
        async with ends_within(10 + IN_TIME):
            lease = await waiter.acquire(NAME, ttl=30, wait=10)
        party.witness.enters(lease)
        party.witness.leaves(lease)
        await free(waiter, party, server, lease)

    async def scene() -> None:
        lease = await holder.acquire(NAME, ttl=30)
        party.witness.enters(lease)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        assert sum(server.ask("CLIENT", "KILL", "TYPE", sort) for sort in sorts) > 0
        party.witness.leaves(lease)
        async with ends_within(SOON):
            await free(holder, party, server, lease)
            await second.finish()

    party.play(scene())
    party.leaves_nothing(server)


async def free(face: Face, party: Party, server: Server, lease: Lease) -> None:
    """Release over a connection that may have just been killed: said or owed, it is done."""
    try:
        await face.release(lease)
    except StoreUnreachable:
        mine = f"\n1\n{lease.fence}\n"
        await face.happened(so(lambda: mine not in (server.ask("GET", party.key()) or "")))


@pytest.mark.parametrize("sort", ["normal", "pubsub"])
@on_valkey_9
def test_a_holder_whose_connections_are_killed_again_and_again_keeps_its_lease(
    party: Party, server: Server, sort: str
) -> None:
    holder = party.join(server.url)

    async def scene() -> None:
        lease = await holder.acquire(NAME, ttl=TTL)
        party.witness.enters(lease)
        for _ in range(3):
            renewed_at, killed_at = lease._hold.tenure.asked_at, boottime()
            server.ask("CLIENT", "KILL", "TYPE", sort, "SKIPME", "yes")
            await holder.happened(so(lambda at=renewed_at: lease._hold.tenure.asked_at > at or lease.lost))  # type: ignore[misc]
            lease.ensure()
            assert boottime() - killed_at < TTL
        assert not holder.diary.of(Lost)
        party.witness.leaves(lease)
        await free(holder, party, server, lease)

    party.play(scene())
    party.leaves_nothing(server)


@pytest.mark.parametrize("who", ["holder", "waiter"])
@on_valkey_9
def test_each_connection_may_be_killed_by_itself(party: Party, server: Server, who: str) -> None:
    holder, waiter = party.join(server.url), party.join(server.url)

    async def follow() -> None:
        async with ends_within(10 + IN_TIME):
            lease = await waiter.acquire(NAME, ttl=30, wait=10)
        party.witness.enters(lease)
        party.witness.leaves(lease)
        await free(waiter, party, server, lease)

    async def scene() -> None:
        lease = await holder.acquire(NAME, ttl=30)
        party.witness.enters(lease)
        of_holder = numbers(server)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        doomed = of_holder if who == "holder" else numbers(server) - of_holder
        for number in doomed:
            server.ask("CLIENT", "KILL", "ID", number)
        assert doomed
        party.witness.leaves(lease)
        async with ends_within(SOON):
            await free(holder, party, server, lease)
            await second.finish()

    party.play(scene())
    party.leaves_nothing(server)


def numbers(server: Server) -> set[str]:
    """Of all connections but the one that asks."""
    lines = server.ask("CLIENT", "LIST").splitlines()
    return {dict(word.split("=", 1) for word in line.split())["id"] for line in lines if "laddr=127" in line}
