"""The server forgets, or hangs up: holders learn of it at the next renewal, and those who wait are served again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dibs import LeaseLost
from dibs.events import JoinedQueue, Lost
from tests.chaos.losses import Loss
from tests.chaos.moments import IN_TIME, ends_within, so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.stores.redis.faults.party import NAME, Party, renewed

TTL = 1.0
NEXT_RENEWAL = TTL / 3
LONG_TTL = 30
SOON = 1.0
"""By then a connection was made anew."""
OLD = "?protocol=2"
QUEUE = ["~line", "~tickets", "~expiries"]

Forget = Callable[[Server, Party], None]
Kill = Callable[[set[str]], None]


def all_keys(server: Server, party: Party) -> None:
    server.ask("FLUSHALL")


def the_lock(server: Server, party: Party) -> None:
    assert server.ask("DEL", party.key()) == 1


def the_lock_and_its_queue(server: Server, party: Party) -> None:
    server.ask("DEL", party.key(), *(f"{{{party.key()}}}{part}" for part in QUEUE))


def what_is_in_the_way(server: Server, party: Party) -> None:
    """Others write so much that the server evicts the lock to make room for it; then there is room again."""
    held = f"\n{party.witness.fence}\n"
    for number in range(10_000):
        if held not in (server.ask("GET", party.key()) or ""):
            break
        server.ask("SET", f"ballast-{number}", "x" * 50_000)
    server.ask("CONFIG", "SET", "maxmemory", "0")
    assert "evicted_keys:0" not in server.ask("INFO", "stats")


@pytest.mark.parametrize("forget", [all_keys, the_lock, the_lock_and_its_queue])
def test_a_holder_learns_at_the_next_renewal_that_it_was_forgotten(
    party: Party, server: Server, forget: Forget
) -> None:
    is_forgotten_and_told(party, server, forget)


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
@on_valkey_9
def test_a_holder_learns_at_the_next_renewal_that_it_was_evicted(
    party: Party, start_server: Callable[..., Server], policy: str
) -> None:
    server = start_server("maxmemory 8mb", f"maxmemory-policy {policy}", "maxmemory-samples 1")
    is_forgotten_and_told(party, server, what_is_in_the_way)


def is_forgotten_and_told(party: Party, server: Server, forget: Forget) -> None:
    """One holds a lock and another waits for it when the server forgets: both come to know, and fences rise."""
    holder, waiter = party.join(server.url), party.join(server.url)

    async def scene() -> None:
        loss = Loss()
        lease = await holder.acquire(NAME, ttl=TTL, on_lost=loss)
        party.witness.counts(lease)
        second = waiter.start(party.follow(waiter, ttl=TTL))
        await waiter.seen(JoinedQueue)
        forget(server, party)
        with ends_within(TTL + IN_TIME):  # nobody waits longer than for the expiry that was known
            with ends_within(NEXT_RENEWAL + IN_TIME):
                await holder.happened(so(lambda: lease.lost))
            await second.finish()
        assert "no longer knows it" in loss.reason(lease)
        with pytest.raises(LeaseLost):
            await holder.release(lease)
        await party.follow(holder, ttl=TTL)

    party.play(scene())
    party.leaves_nothing(server)


@pytest.mark.parametrize("part", [*QUEUE, "~fence", "~index"])
@on_valkey_9
def test_a_part_of_a_lock_may_be_deleted_while_it_is_held_and_waited_for(
    party: Party, server: Server, part: str
) -> None:
    holder, waiter = party.join(server.url), party.join(server.url)

    async def scene() -> None:
        lease = await party.enter(holder, ttl=TTL)
        second = waiter.start(party.visit(waiter, ttl=TTL))
        await waiter.seen(JoinedQueue)
        key = f"{{{party.key()}}}{part}" if part in QUEUE else party.key(part)
        assert server.ask("DEL", key) == 1
        lease.ensure()
        await party.leave(holder, lease)
        with ends_within(2 * TTL):
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
    def kill(_: set[str]) -> None:
        assert sum(server.ask("CLIENT", "KILL", "TYPE", sort) for sort in sorts) > 0

    is_handed_over(party, server, kill, options)


@pytest.mark.parametrize("who", ["holder", "waiter"])
@on_valkey_9
def test_all_connections_of_one_side_may_be_killed(party: Party, server: Server, who: str) -> None:
    def kill(of_holder: set[str]) -> None:
        doomed = of_holder if who == "holder" else numbers(server) - of_holder
        assert sum(server.ask("CLIENT", "KILL", "ID", number) for number in doomed) > 0

    is_handed_over(party, server, kill)


def is_handed_over(party: Party, server: Server, kill: Kill, options: str = "") -> None:
    """From the holder to the one who waits, soon, whichever connections were killed meanwhile."""
    holder, waiter = party.join(server.url + options), party.join(server.url + options)

    async def follow() -> None:
        lease = await party.enter(waiter, ttl=LONG_TTL, wait=10)
        await party.leave_somehow(waiter, lease, server)

    async def scene() -> None:
        lease = await party.enter(holder, ttl=LONG_TTL)
        of_holder = numbers(server)
        second = waiter.start(follow())
        await waiter.seen(JoinedQueue)
        kill(of_holder)
        with ends_within(SOON):
            await party.leave_somehow(holder, lease, server)
            await second.finish()

    party.play(scene())
    party.leaves_nothing(server)


def numbers(server: Server) -> set[str]:
    """Of all connections but the one that asks."""
    lines = server.ask("CLIENT", "LIST").splitlines()
    return {dict(word.split("=", 1) for word in line.split())["id"] for line in lines if "laddr=127" in line}


@pytest.mark.parametrize("sort", ["normal", "pubsub"])
@on_valkey_9
def test_a_holder_whose_connections_are_killed_again_and_again_keeps_its_lease(
    party: Party, server: Server, sort: str
) -> None:
    holder = party.join(server.url)

    async def scene() -> None:
        lease = await party.enter(holder, ttl=TTL)
        for _ in range(3):
            next_renewal = renewed(lease)
            with ends_within(TTL):
                server.ask("CLIENT", "KILL", "TYPE", sort, "SKIPME", "yes")
                await holder.happened(next_renewal)
            lease.ensure()
        assert not holder.diary.of(Lost)
        await party.leave_somehow(holder, lease, server)

    party.play(scene())
    party.leaves_nothing(server)
