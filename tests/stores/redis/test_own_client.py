"""A store is named by a URL, or by somebody's own client, which stays as it was; no error shows a password."""

from __future__ import annotations

import asyncio
import copy
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel

import dibs
from dibs import ConfigError, Dibs, StoreUnreachable
from dibs.errors import StoreRefused
from tests.servers.certificate import Certificate
from tests.servers.fixtures import there
from tests.servers.kinds import REDIS, VALKEY_9, Kind
from tests.servers.ports import HOST, Port
from tests.servers.server import Server
from tests.stores.redis.rivals import LONG, so

SECRET = "hunter2/@:#?"  # noqa: S105 - of a server that lives for one test
USERS = {
    "app": f"on >{SECRET} ~* &* +@all",
    "deaf": f"on >{SECRET} ~* resetchannels +@all",
    "weak": f"on >{SECRET} ~* &* +@all -@scripting",
}
NO_TLS = "no TLS in the redis-server on this machine"
WAIT, GRACE = 0.3, 0.25
PATIENT = 10.0
"""Where it is to work: a handshake may take its time on a busy machine."""
"""A wait ends when it says, give or take what a busy machine takes."""

Turn = Callable[..., None]


def by_thread(d: Dibs, wait: float = PATIENT) -> None:
    """Take a lock, look at it, and give it back."""
    with d, d.lock("a", wait=wait) as lease:
        seen = d.inspect("a").held
        assert seen is not None
        assert seen.fence == lease.fence


def by_task(d: Dibs, wait: float = PATIENT) -> None:
    async def main() -> None:
        async with d, d.lock("a", wait=wait) as lease:
            seen = (await d.ainspect("a")).held
            assert seen is not None
            assert seen.fence == lease.fence

    asyncio.run(main())


in_both_colours = pytest.mark.parametrize("turn", [by_thread, by_task], ids=["blocking", "asyncio"])
of_both_kinds = pytest.mark.parametrize(
    "library", [redis.Redis, redis.asyncio.Redis], ids=["redis.Redis", "redis.asyncio.Redis"]
)


@pytest.fixture
def server_kind() -> Kind:
    """One is enough: what differs between them is not said before a connection is made."""
    return there(VALKEY_9)


@pytest.fixture(scope="module")
def guarded_server() -> Iterator[Server]:
    with Server(there(VALKEY_9), password=SECRET, users=USERS) as server:
        yield server


@pytest.fixture
def guarded(guarded_server: Server) -> Server:
    """Lets nobody in without a password."""
    guarded_server.flush()
    return guarded_server


@pytest.fixture(scope="module")
def encrypted_server(certificate: Certificate) -> Iterator[Server]:
    if not there(REDIS).speaks_tls():
        pytest.skip(NO_TLS)
    with Server(REDIS, certificate=certificate) as server:
        yield server


@pytest.fixture
def encrypted(encrypted_server: Server) -> Server:
    """Speaks TLS. Redis does: the wheels of Valkey are built without."""
    encrypted_server.flush()
    return encrypted_server


def fences(server: Server, database: int = 0) -> bool:
    """Whether a lock has ever been had there."""
    with redis.Redis(unix_socket_path=str(server.socket), db=database, password=server._password or None) as client:
        return bool(client.exists("dibs:~fence"))


def missed(d: Dibs, turn: Turn) -> tuple[StoreRefused, str]:
    """How a turn fails, and all that a log would show of it; in time."""
    began = monotonic()
    with pytest.raises(StoreRefused) as refused:
        turn(d, WAIT)
    assert monotonic() - began < WAIT + GRACE
    return refused.value, "".join(traceback.format_exception(refused.value))


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


class TestWhatIsWrong:
    """It is said in time, with what can be done about it."""

    @in_both_colours
    def test_a_wrong_password(self, guarded: Server, turn: Turn) -> None:
        error, shown = missed(dibs.connect(guarded.url_of("app", f"{SECRET}!")), turn)
        assert "invalid username-password pair" in error.why
        assert "check the user and the password in the URL" in shown
        assert "hunter2" not in shown

    @of_both_kinds
    @in_both_colours
    def test_a_client_with_a_wrong_password(self, guarded: Server, library: type[Any], turn: Turn) -> None:
        error, shown = missed(dibs.connect(library(host=HOST, port=guarded.port, password=f"{SECRET}!")), turn)
        assert "invalid username-password pair" in error.why
        assert "the password" in error.fix
        assert "hunter2" not in shown

    @in_both_colours
    def test_no_password_where_one_is_needed(self, guarded: Server, turn: Turn) -> None:
        error, _ = missed(dibs.connect(f"redis://{HOST}:{guarded.port}/0"), turn)
        assert "password" in error.fix

    @in_both_colours
    @pytest.mark.parametrize("user", ["deaf", "weak"])
    def test_a_user_who_may_not_do_what_is_needed(self, guarded: Server, turn: Turn, user: str) -> None:
        error, shown = missed(dibs.connect(guarded.url_of(user, SECRET)), turn)
        assert "NOPERM" in error.why
        assert "let its user run what dibs needs" in error.fix
        assert "hunter2" not in shown

    @in_both_colours
    def test_nobody_listens(self, turn: Turn) -> None:
        port = Port()
        error, shown = missed(dibs.connect(f"redis://app:hunter2@{HOST}:{port.number}/0"), turn)
        port.close()
        assert error.server == f"redis://{HOST}:{port.number}"
        assert error.fix == "check that it runs and can be reached"
        assert "hunter2" not in shown

    @in_both_colours
    def test_no_such_socket(self, turn: Turn) -> None:
        error, _ = missed(dibs.connect("unix:///nowhere/at/all"), turn)
        assert error.server == "unix:///nowhere/at/all"
        assert "No such file" in error.why

    @in_both_colours
    def test_a_server_that_takes_connections_and_says_nothing(self, turn: Turn) -> None:
        with socket.create_server((HOST, 0)) as listener:
            began = monotonic()
            with pytest.raises(StoreUnreachable):
                turn(dibs.connect(f"redis://{HOST}:{listener.getsockname()[1]}/0"), WAIT)
            assert monotonic() - began < WAIT + GRACE


@in_both_colours
def test_a_password_is_nowhere_to_be_seen(guarded: Server, turn: Turn, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client: Any = redis.Redis(host=HOST, port=guarded.port, username="app", password=SECRET)
    for store in (guarded.url_of("app", SECRET), guarded.socket_url, client):
        d = dibs.connect(store)
        lock = d.lock("a")
        shown = [repr(d), str(d), repr(d.guarantee), repr(lock), repr(d._engine.backend.server)]
        turn(d)
        assert "hunter2" not in "".join([*shown, repr(d), caplog.text])


@pytest.mark.parametrize("url", ["redis://:hunter2@[::1/0", "redis://:hunter2@host:port/0", "radish://:hunter2@host"])
def test_a_password_is_not_shown_by_a_url_that_cannot_be_read(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dibs.connect(url)
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))


class TestNoServer:
    """What names no single server is refused, with what would be right."""

    NOBODY = (("localhost", 1),)

    @pytest.mark.parametrize(
        "sentinel", [redis.sentinel.Sentinel, redis.asyncio.sentinel.Sentinel], ids=["blocking", "asyncio"]
    )
    @pytest.mark.parametrize("role", ["master_for", "slave_for"])
    def test_a_client_that_asks_sentinels(self, sentinel: type[Any], role: str) -> None:
        with pytest.raises(ConfigError, match="finds its server by itself: give the URL of one server instead"):
            dibs.connect(getattr(sentinel(self.NOBODY), role)("mymaster"))
        with pytest.raises(ConfigError, match="not by Sentinel"):
            dibs.connect(sentinel(self.NOBODY))

    def test_a_client_of_a_cluster(self, start_server: Callable[..., Server]) -> None:
        bus = Port()
        server = start_server("cluster-enabled yes", f"cluster-port {bus.number}")
        server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        with redis.RedisCluster(host=HOST, port=server.port) as client:
            clusters: list[Any] = [client, redis.asyncio.RedisCluster(host=HOST, port=server.port)]
            for cluster in clusters:
                with pytest.raises(ConfigError, match="RedisCluster"):
                    dibs.connect(cluster)
        bus.close()

    @pytest.mark.parametrize("store", [object(), 5, b"redis://localhost", ["memory://"], redis.ConnectionPool()])
    def test_what_is_no_client(self, store: Any) -> None:
        with pytest.raises(ConfigError, match=r"a URL or a redis\.Redis of one server, not by"):
            dibs.connect(store)

    def test_what_only_looks_like_a_client(self) -> None:
        class Lookalike:
            connection_pool = "a pool"

        with pytest.raises(ConfigError, match=r"Lookalike names no store: give a URL, or a redis.Redis of one server"):
            dibs.connect(Lookalike())


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
