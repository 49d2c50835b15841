"""Very many who wait: in order, none lost, and at next to no cost while they do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import redis

import dibs
from dibs.events import JoinedQueue
from dibs.testing.contract.faces import Diary
from tests.chaos.stage import Stage
from tests.servers.fixtures import on_valkey_9
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.stores.redis.crowds import wait_in_line

PROGRAMS, PEOPLE = 4, 2_500
TTL = 60  # longer than all of it takes: who is dead is passed over, not waited for
PATIENCE = 120.0
LINE, TICKETS, EXPIRIES = b"{dibs:a}~line", b"{dibs:a}~tickets", b"{dibs:a}~expiries"

pytestmark = on_valkey_9


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.mark.thorough
def test_ten_thousand_wait_for_one_lock_half_of_them_are_killed_and_all_others_are_served(
    private_server: Server, stage: Stage
) -> None:
    url = private_server.url
    with dibs.connect(url, quiet=True) as d, redis.Redis.from_url(url) as eyes:
        lease = d.lock("a", ttl=TTL).acquire()
        programs = [stage.start(wait_in_line, url, "a", TTL, PEOPLE) for _ in range(PROGRAMS)]
        for program in programs:
            program.hear("all wait", within=PATIENCE)
        assert len(d.inspect("a").waiters) == PROGRAMS * PEOPLE
        assert int(str(eyes.info("memory")["used_memory"])) < 30_000_000
        for program in programs[::2]:
            program.kill()
        lease.release()
        for program in programs[1::2]:
            assert program.hear("served", within=PATIENCE) == [PEOPLE, True, True]
            program.ends()
        with d.lock("a", ttl=TTL, wait=30):
            pass
        assert _of_the_lock(eyes) == {LINE, TICKETS, EXPIRIES}, "the tickets of the dead have not run out yet"
        for key in (LINE, TICKETS, EXPIRIES):
            assert 0 < int(str(eyes.pttl(key))) <= 2 * TTL * 1000, "should nobody ever come again"
        of_the_dead = dict(eyes.zrange(EXPIRIES, 0, -1, withscores=True))
        assert len(of_the_dead) == PROGRAMS // 2 * PEOPLE
        assert max(of_the_dead.values()) <= _now(private_server) + TTL * 1e6
        eyes.zadd(EXPIRIES, {owner: expires_at - TTL * 1e6 for owner, expires_at in of_the_dead.items()})  # a TTL later
        with d.lock("a", ttl=TTL):
            pass
        assert _of_the_lock(eyes) == set(), "whoever comes then takes them away"


def _of_the_lock(eyes: redis.Redis) -> set[bytes]:
    """Without what stays for all locks, and the histories."""
    stays = {b"dibs:~fence", b"dibs:~index", b"dibs:~counts"}
    found = set[bytes](eyes.scan_iter(count=1_000))
    return {key for key in found if not key.startswith(b"{dibs:~fence}")} - stays


def _now(server: Server) -> float:
    seconds, micros = server.ask("TIME")
    return float(seconds) * 1e6 + float(micros)


@pytest.mark.thorough
def test_a_thousand_who_wait_for_a_thousand_locks_need_two_connections_and_a_command_a_round(
    private_server: Server,
) -> None:
    names, ttl, rounds = [f"lock-{number}" for number in range(1_000)], 6.0, 3
    diary = Diary()

    async def main() -> None:
        async with (
            dibs.connect(private_server.url, quiet=True) as holder,
            dibs.connect(proxy.url, observers=[diary], quiet=True) as d,
        ):
            leases = [await holder.lock(name, ttl=30).aacquire() for name in names]
            visits = [asyncio.create_task(_visit(d, name, ttl)) for name in names]
            await asyncio.to_thread(diary.wait_for, JoinedQueue, len(names))
            said_before = len(proxy.commands)

            def asks() -> int:
                return list(proxy.commands)[said_before:].count("EVALSHA")

            while asks() < rounds:  # the keeper has a connection of its own, which is opened in the first
                await asyncio.to_thread(proxy.wait_for, commands=len(proxy.commands) + 1, within=PATIENCE)
            assert asks() <= rounds + 1, "a round keeps all of them, and while they wait nobody else says anything"
            assert str(private_server.ask("CLIENT", "LIST")).count("id=") <= 2 + 2 + 1, (
                "ours, the holder's, and this one"
            )
            for lease in leases:
                await lease.arelease()
            assert await asyncio.gather(*visits) == [None] * len(names)

    with Proxy(private_server.port) as proxy:
        asyncio.run(main())


async def _visit(d: dibs.Dibs, name: str, ttl: float) -> None:
    async with d.lock(name, ttl=ttl):
        pass
