"""A server that is not to be had, or names that lead to none: told in time, with what can be done, and no password."""

from __future__ import annotations

import logging
import socket
import traceback
from time import monotonic
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel

import dibs
from dibs import ConfigError, StoreUnreachable
from dibs.errors import StoreRefused
from tests.chaos.moments import IN_TIME
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.ports import HOST, Port
from tests.servers.server import Server
from tests.stores.redis.turns import SECRET, WAIT, Turn, in_both_colours, missed, of_both_kinds


@pytest.fixture
def server_kind() -> Kind:
    """One is enough: what differs between them is not said before a connection is made."""
    return there(VALKEY_9)


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
            assert monotonic() - began < WAIT + IN_TIME

    @in_both_colours
    def test_a_database_that_is_not_there_is_not_a_wrong_password(self, server: Server, turn: Turn) -> None:
        error, _ = missed(dibs.connect(f"redis://{HOST}:{server.port}/999"), turn)
        assert "DB index is out of range" in error.why
        assert "password" not in error.fix

    @in_both_colours
    def test_an_option_that_redis_py_does_not_know_is_named(self, server_url: str, turn: Turn) -> None:
        with pytest.raises(ConfigError, match="nonsense"):
            turn(dibs.connect(f"{server_url}?nonsense=1"), WAIT)

    @in_both_colours
    def test_a_server_of_a_cluster_is_said_to_be_one(self, cluster_of_one: Server, turn: Turn) -> None:
        with pytest.raises(StoreRefused, match="cluster"):
            turn(dibs.connect(cluster_of_one.url), WAIT)


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


@pytest.mark.parametrize("mark", "/?#")
def test_a_password_that_is_not_quoted_is_not_shown(mark: str) -> None:
    with pytest.raises(ConfigError) as refused:
        dibs.connect(f"redis://:hunter2{mark}x@host:6379/0")
    assert "hunter2" not in str(refused.value)
    assert refused.value.__suppress_context__, "the error of the one who read it repeats a part"


class TestNoServer:
    """What names no single server is refused, with what would be right."""

    NOBODY = (("localhost", 1),)

    @pytest.mark.parametrize(
        "sentinel", [redis.sentinel.Sentinel, redis.asyncio.sentinel.Sentinel], ids=["blocking", "asyncio"]
    )
    @pytest.mark.parametrize("role", ["master_for", "slave_for"])
    def test_a_client_that_asks_sentinels(self, sentinel: type[Any], role: str) -> None:
        with pytest.raises(ConfigError, match="finds its server by itself: give its URL instead"):
            dibs.connect(getattr(sentinel(self.NOBODY), role)("mymaster"))
        with pytest.raises(ConfigError, match="not by Sentinel"):
            dibs.connect(sentinel(self.NOBODY))

    def test_a_client_of_a_cluster(self, cluster_of_one: Server) -> None:
        with redis.RedisCluster(host=HOST, port=cluster_of_one.port) as client:
            clusters: list[Any] = [client, redis.asyncio.RedisCluster(host=HOST, port=cluster_of_one.port)]
            for cluster in clusters:
                with pytest.raises(ConfigError, match="RedisCluster"):
                    dibs.connect(cluster)

    @pytest.mark.parametrize("store", [object(), 5, b"redis://localhost", ["memory://"], redis.ConnectionPool()])
    def test_what_is_no_client(self, store: Any) -> None:
        with pytest.raises(ConfigError, match=r"a URL or a redis\.Redis of one server, not by"):
            dibs.connect(store)

    def test_what_only_looks_like_a_client(self) -> None:
        class Lookalike:
            connection_pool = "a pool"

        with pytest.raises(ConfigError, match=r"Lookalike names no store: give a URL, or a redis.Redis of one server"):
            dibs.connect(Lookalike())
