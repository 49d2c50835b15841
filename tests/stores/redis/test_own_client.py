"""A store is named by a URL, or by somebody's own client, which stays as it was."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
import redis.asyncio

import dibs
from tests.chaos.moments import LONG, so
from tests.servers.certificate import Certificate
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.ports import HOST
from tests.servers.server import Server
from tests.stores.redis.turns import SECRET, WAIT, Turn, in_both_colours, of_both_kinds


@pytest.fixture
def server_kind() -> Kind:
    """One is enough: what differs between them is not said before a connection is made."""
    return there(VALKEY_9)


def fences(server: Server, database: int = 0) -> bool:
    """Whether a lock has ever been had there."""
    with redis.Redis(unix_socket_path=str(server.socket), db=database, password=server._password or None) as client:
        return bool(client.exists("dibs:~fence"))


WAYS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "decoding": {"decode_responses": True},
    "another encoding": {"encoding": "utf-16", "decode_responses": True},
    "RESP2": {"protocol": 2},
    "RESP3": {"protocol": 3},
    "a database": {"db": 3},
    "with a name and checks": {"client_name": "mine", "health_check_interval": 1, "socket_timeout": 1},
    "one connection": {"single_connection_client": True},
}


@of_both_kinds
@in_both_colours
@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_a_client_names_its_server(server: Server, library: type[Any], turn: Turn, options: dict[str, Any]) -> None:
    turn(dibs.connect(library(host=HOST, port=server.port, **options)))
    assert fences(server, options.get("db", 0))


@of_both_kinds
@in_both_colours
@pytest.mark.parametrize("decode", [True, False])
def test_a_client_names_its_user(guarded: Server, library: type[Any], turn: Turn, decode: bool) -> None:
    login = {"username": "app", "password": SECRET, "db": 2}
    turn(dibs.connect(library(host=HOST, port=guarded.port, decode_responses=decode, **login)))
    assert fences(guarded, 2)


@of_both_kinds
@in_both_colours
def test_a_client_names_who_knows_its_password(guarded: Server, library: type[Any], turn: Turn) -> None:
    knows = redis.UsernamePasswordCredentialProvider("app", SECRET)
    turn(dibs.connect(library(host=HOST, port=guarded.port, credential_provider=knows)))
    assert fences(guarded)


@of_both_kinds
@in_both_colours
def test_a_client_names_a_socket(guarded: Server, library: type[Any], turn: Turn) -> None:
    d = dibs.connect(library(unix_socket_path=str(guarded.socket), password=SECRET))
    assert repr(d) == f"<Dibs unix://{guarded.socket} namespace='dibs'>"
    turn(d)
    assert fences(guarded)


@of_both_kinds
@in_both_colours
def test_a_client_of_a_url_is_as_good(guarded: Server, library: type[Any], turn: Turn) -> None:
    turn(dibs.connect(library.from_url(guarded.url_of("app", SECRET))))
    assert fences(guarded)


@of_both_kinds
@in_both_colours
def test_a_client_speaks_tls(encrypted: Server, library: type[Any], turn: Turn) -> None:
    d = dibs.connect(library.from_url(encrypted.tls_url))
    assert repr(d).startswith(f"<Dibs rediss://{HOST}:")
    turn(d)
    assert fences(encrypted)


@in_both_colours
def test_a_url_names_a_socket(guarded: Server, turn: Turn) -> None:
    turn(dibs.connect(guarded.socket_url))
    assert fences(guarded)


@in_both_colours
@pytest.mark.parametrize("scheme", ["redis", "valkey", "VALKEY"])
def test_a_url_names_user_and_database(guarded: Server, turn: Turn, scheme: str) -> None:
    url = guarded.url_of("app", SECRET).replace("redis://", f"{scheme}://").removesuffix("/0") + "/5"
    d = dibs.connect(url)
    assert repr(d) == f"<Dibs {scheme.lower()}://{HOST}:{guarded.port}/5 namespace='dibs'>"
    turn(d)
    assert fences(guarded, 5)


@in_both_colours
@pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
def test_a_url_speaks_tls(encrypted: Server, turn: Turn, scheme: str) -> None:
    turn(dibs.connect(encrypted.tls_url.replace("rediss://", f"{scheme}://")))
    assert fences(encrypted)


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
    encrypted: Server, certificate: Certificate, turn: Turn
) -> None:
    class Secure(redis.SSLConnection):
        """Somebody's own."""

    assert encrypted._tls_port is not None
    options: dict[str, Any] = {
        "host": HOST,
        "port": encrypted._tls_port.number,
        "ssl_ca_certs": str(certificate.certificate),
    }
    client = redis.Redis(connection_pool=redis.ConnectionPool(connection_class=Secure, **options))
    assert client.ping()
    client.close()
    d = dibs.connect(client)
    assert repr(d).startswith("<Dibs rediss://")
    turn(d)
    assert fences(encrypted)


class TestTheirClientIsTheirs:
    """It is only asked where the server is; and it can be closed, or used to the full, while we work."""

    @pytest.fixture
    def server(self, private_server: Server) -> Server:
        """Nobody else's, so that its connections can be counted."""
        return private_server

    @pytest.fixture
    def count(self, server: Server) -> Iterator[Callable[[], int]]:
        """How many connections there are, beside the one that asks."""
        with redis.Redis(unix_socket_path=str(server.socket)) as client:
            yield lambda: len(client.client_list()) - 1

    @in_both_colours
    def test_a_blocking_client_is_as_it_was(self, server: Server, turn: Turn, count: Callable[[], int]) -> None:
        with redis.Redis(host=HOST, port=server.port, max_connections=1) as client:
            pool, number = client.connection_pool, client.client_id()
            options, connections = copy.copy(pool.connection_kwargs), list(pool._available_connections)
            d = dibs.connect(client)
            turn(d)
            d.close()
            assert client.connection_pool is pool
            assert pool.connection_kwargs == options
            assert pool._available_connections == connections
            assert client.client_id() == number
            assert so(lambda: count() == 1).wait(LONG)

    @in_both_colours
    def test_an_asyncio_client_is_as_it_was(self, server: Server, turn: Turn, count: Callable[[], int]) -> None:
        async def main() -> None:
            async with redis.asyncio.Redis(host=HOST, port=server.port, max_connections=1) as client:
                pool, number = client.connection_pool, await client.client_id()
                options, connections = copy.copy(pool.connection_kwargs), list(pool._available_connections)
                await asyncio.to_thread(turn, dibs.connect(client))
                assert client.connection_pool is pool
                assert pool.connection_kwargs == options
                assert list(pool._available_connections) == connections
                assert await client.client_id() == number
                assert await asyncio.to_thread(so(lambda: count() == 1).wait, LONG)

        asyncio.run(main())

    def test_one_loop_serves_both_clients(self, server: Server, count: Callable[[], int]) -> None:
        async def main() -> None:
            async with redis.asyncio.Redis(host=HOST, port=server.port, decode_responses=True) as client:
                async with dibs.connect(client) as d, d.lock("a"):
                    assert await client.exists("dibs:a") == 1
                assert await client.exists("dibs:a") == 0
                assert await asyncio.to_thread(so(lambda: count() == 1).wait, LONG)

        asyncio.run(main())

    def test_they_may_use_their_only_connection_while_we_wait(self, server: Server) -> None:
        with redis.Redis(host=HOST, port=server.port, max_connections=1) as client, dibs.connect(client) as d:
            with client.pipeline() as pipe:
                pipe.watch("dibs:a")
                with d.lock("a", wait=WAIT):
                    pass
                pipe.multi()
                pipe.set("b", "1")
                with pytest.raises(redis.WatchError):
                    pipe.execute()
            with client.pubsub() as ears:
                ears.psubscribe("*")
                with d.lock("a", wait=WAIT):
                    d.try_lock("a").acquire()
                assert ears.get_message(timeout=0) == {
                    "type": "psubscribe",
                    "pattern": None,
                    "channel": b"*",
                    "data": 1,
                }
                assert ears.get_message(timeout=0) is None

    def test_they_may_close_it_while_we_hold_a_lock(self, server: Server, count: Callable[[], int]) -> None:
        client = redis.Redis(host=HOST, port=server.port)
        with dibs.connect(client) as d, d.lock("a") as lease:
            client.ping()
            client.close()
            client.connection_pool.disconnect()
            lease.extend()
            assert d.try_lock("b").acquire() is not None
        assert so(lambda: count() == 0).wait(LONG)

    def test_two_stores_of_one_client_see_each_other(self, server: Server) -> None:
        client = redis.Redis(host=HOST, port=server.port)
        with dibs.connect(client) as one, dibs.connect(client) as two, one.lock("a"):
            assert two.try_lock("a").acquire() is None
        client.close()
