"""What other programs, wrong words and broken connections can do to the store, and what they cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, cast

import pytest
import redis
import redis.asyncio

import dibs
from dibs import ConfigError, LockBusy, StoreUnreachable
from dibs.errors import StoreRefused
from dibs.events import JoinedQueue
from dibs.stores.redis import open_store
from dibs.stores.redis.blocking import RedisWire
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face
from tests.servers.certificate import Certificate
from tests.servers.fixtures import there
from tests.servers.kinds import REDIS, VALKEY_9, Kind
from tests.servers.ports import HOST, Port
from tests.servers.server import Server
from tests.stores.redis.rivals import LONG, so
from tests.stores.redis.test_own_client import Turn, in_both_colours, missed, of_both_kinds

NAME = "stock"
FOREIGN = "another program, not by dibs"


@pytest.fixture
def server_kind() -> Kind:
    return there(VALKEY_9)


@pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
def face(request: pytest.FixtureRequest, server_url: str) -> Face:
    made: Face = request.param(open_store(server_url), namespace="")
    return made


def test_a_lock_without_end_is_busy(face: Face, server: Server) -> None:

    async def scene() -> None:
        server.ask("SET", NAME, "theirs", "NX")
        with pytest.raises(LockBusy, match=FOREIGN) as busy:
            await face.acquire(NAME, wait=0.05)
        assert busy.value.ttl_left == float("inf")

    face.play(scene())


@pytest.mark.parametrize("text", ["x\n1\nfoo", "x\n1\na\nb\nc\nd\ne\nf", "\n1\n"])
def test_a_text_that_resembles_ours_is_another_program_s(face: Face, server: Server, text: str) -> None:

    async def scene() -> None:
        server.ask("SET", NAME, text, "PX", "30000")
        assert await face.try_acquire(NAME) is None
        with pytest.raises(LockBusy, match=FOREIGN):
            await face.acquire(NAME, wait=0.05)
        seen = (await face.inspect(NAME)).held
        assert seen is not None
        assert (seen.who, seen.fence) == (FOREIGN, 0)
        await face.locks()

    face.play(scene())


def test_the_second_gets_in_soon_when_the_first_has_given_up(face: Face, server: Server) -> None:
    came_in_at: list[float] = []

    async def give_up() -> None:
        with pytest.raises(LockBusy):
            await face.acquire(NAME, wait=0.2)

    async def visit() -> None:
        lease = await face.acquire(NAME, wait=LONG)
        came_in_at.append(monotonic())
        await face.release(lease)

    async def scene() -> None:
        server.ask("SET", NAME, "theirs", "PX", "30000")
        first = face.start(give_up())
        await face.seen(JoinedQueue)
        second = face.start(visit())
        await face.seen(JoinedQueue, times=2)
        await first.finish()
        released_at = monotonic()
        server.ask("DEL", NAME)
        await second.finish()
        assert came_in_at[0] - released_at < 1

    face.play(scene())


@of_both_kinds
def test_a_pool_without_a_host_means_this_machine(library: type[Any]) -> None:
    clients = [library.from_url("redis:///2")]
    if library is redis.Redis:
        clients += [
            redis.Redis(connection_pool=pool(port=1)) for pool in (redis.ConnectionPool, redis.BlockingConnectionPool)
        ]
    for client in clients:
        assert "redis://localhost:" in repr(dibs.connect(client))


@in_both_colours
def test_a_class_of_connections_that_speaks_tls_is_not_made_to_speak_plainly(
    certificate: Certificate, turn: Turn
) -> None:

    class Secure(redis.SSLConnection):
        """Somebody's own."""

    with Server(REDIS, certificate=certificate) as server:
        assert server._tls_port is not None
        options: dict[str, Any] = {
            "host": HOST,
            "port": server._tls_port.number,
            "ssl_ca_certs": str(certificate.certificate),
        }
        client = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=Secure, **options))
        assert client.ping()
        client.close()
        d = dibs.connect(client)
        assert repr(d).startswith("<Dibs rediss://")
        turn(d)


@in_both_colours
def test_an_option_that_redis_py_does_not_know_is_named(server_url: str, turn: Turn) -> None:
    with pytest.raises(ConfigError, match="nonsense"):
        turn(dibs.connect(f"{server_url}?nonsense=1"), 0.3)


@pytest.mark.parametrize("mark", "/?#")
def test_a_password_that_is_not_quoted_is_not_shown(mark: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dibs.connect(f"redis://:hunter2{mark}x@host:6379/0")
    assert "hunter2" not in str(refused.value)
    assert refused.value.__suppress_context__, "the error of the one who read it repeats a part"


@in_both_colours
def test_a_database_that_is_not_there_is_not_a_wrong_password(server: Server, turn: Turn) -> None:
    error, _ = missed(dibs.connect(f"redis://{HOST}:{server.port}/999"), turn)
    assert "DB index is out of range" in error.why
    assert "password" not in error.fix


@in_both_colours
def test_a_server_of_a_cluster_is_said_to_be_one(start_server: Callable[..., Server], turn: Turn) -> None:
    bus = Port()
    server = start_server("cluster-enabled yes", f"cluster-port {bus.number}")
    bus.close()
    server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
    assert so(lambda: "cluster_state:ok" in server.ask("CLUSTER", "INFO")).wait(LONG)
    with pytest.raises(StoreRefused, match="cluster"):
        turn(dibs.connect(server.url), 0.3)


def test_closing_after_the_loop_has_ended_hangs_up(private_server: Server) -> None:
    d = dibs.connect(private_server.url)

    async def main() -> None:
        async with d.lock("a"):
            pass

    asyncio.run(main())
    d.close()
    assert so(lambda: private_server.ask("CLIENT", "LIST").count("id=") == 1).wait(LONG)


def test_closing_a_line_of_tls_ends_its_thread_in_peace(certificate: Certificate) -> None:
    with Server(REDIS, certificate=certificate) as server:
        for _ in range(60):
            with dibs.connect(server.tls_url) as d, d.lock("a"):
                pass


def test_a_trunk_that_hears_nonsense_is_opened_again(server: Server) -> None:
    with dibs.connect(server.url) as d, d.lock("a"):
        wire = cast("RedisWire", d._engine.blocking("look")._wire)
        trunk, talk = wire._trunk, wire._trunk._talk
        assert talk is not None
        talk._dialogue._reader.feed(b"nonsense\r\n")
        server.ask("PUBLISH", wire.channel, "wake up")
        assert so(lambda: trunk._talk not in (None, talk)).wait(LONG)


def test_an_answer_that_makes_no_sense_is_no_answer(server: Server) -> None:
    with dibs.connect(server.url) as d:
        d.lock("a").acquire().release()
        wire = cast("RedisWire", d._engine.blocking("look")._wire)
        for call in wire._idle:
            call._reader.feed(b"nonsense\r\n")
        with suppress(StoreUnreachable):
            d.try_lock("a").acquire()


def test_another_program_s_lock_can_be_taken_away_by_the_fence_that_is_shown(face: Face, server: Server) -> None:
    async def scene() -> None:
        server.ask("SET", NAME, "theirs")
        seen = (await face.inspect(NAME)).held
        assert seen is not None
        assert seen.fence == 0
        assert await face.force_release(NAME, fence=seen.fence)
        await face.release(await face.acquire(NAME, wait=LONG))

    face.play(scene())
