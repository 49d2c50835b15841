"""The servers that other tests run on."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.retry import Retry

from tests.chaos.stage import LONG, Stage
from tests.servers.certificate import Certificate, make
from tests.servers.fixtures import on_valkey_9, there
from tests.servers.kinds import REDIS, Kind
from tests.servers.leashed import NotStarted
from tests.servers.ports import Port
from tests.servers.proxy import Proxy
from tests.servers.server import Server
from tests.servers.starters import start_a_server, start_a_server_and_fork


@contextmanager
def client(url: str, *, patience: float = LONG) -> Iterator[redis.Redis]:
    """One that tries nothing twice."""
    once = Retry(NoBackoff(), 0)
    with closing(redis.Redis.from_url(url, retry=once, socket_timeout=patience, decode_responses=True)) as client:
        yield client


def value(server: Server) -> object:
    return server.ask("GET", "a")


def write(server: Server) -> None:
    assert server.ask("SET", "a", "written") == "OK"


def is_listening(server: Server) -> bool:
    with client(server.url) as talk:
        try:
            return bool(talk.ping())
        except redis.ConnectionError:
            return False


def test_a_server_answers_on_its_port_and_on_its_socket(server: Server) -> None:
    assert len(str(server.socket)) < 100
    for url in (server.url, server.socket_url):
        with client(url) as talk:
            assert talk.ping()


@pytest.mark.parametrize("time", [1, 2])
def test_the_shared_server_is_empty_for_each_test(server_url: str, time: int) -> None:
    with client(server_url) as talk:
        assert talk.dbsize() == 0
        assert talk.script_exists("e0e1f9fabfc9d4800c877a703b823ac0578ff8db") == [False]
        talk.set("a", 1)
        assert talk.script_load("return 1") == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"


def test_the_shared_server_stays_the_same(
    server: Server, server_kind: Kind, shared_servers: Callable[[Kind], Server]
) -> None:
    assert shared_servers(server_kind) is server


def test_a_server_of_ones_own_is_another(server: Server, private_server: Server) -> None:
    write(server)
    assert server.pid != private_server.pid
    assert value(private_server) is None


def test_who_stops_one_server_does_not_stop_another(start_server: Callable[..., Server]) -> None:
    one, other = start_server(), start_server()
    one.stop()
    assert not is_listening(one)
    assert not one.is_running
    assert is_listening(other)


def test_nothing_is_left_of_a_server_that_is_removed(server_kind: Kind) -> None:
    with Server(server_kind) as server:
        folder, pid = server.socket.parent, server.pid
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_does_not_come_up_says_why(server_kind: Kind) -> None:
    with pytest.raises(NotStarted, match="no-such-thing"), Server(server_kind, "no-such-thing yes"):
        pass


def test_a_server_whose_port_is_taken_does_not_come_up(start_server: Callable[..., Server], server_kind: Kind) -> None:
    taken = start_server()
    with pytest.raises(NotStarted, match="Address already in use"), Server(server_kind, f"port {taken.port}"):
        pass
    assert is_listening(taken)


@pytest.mark.parametrize("starter", [start_a_server, start_a_server_and_fork])
@pytest.mark.parametrize("is_paused", [False, True])
@on_valkey_9
def test_a_server_ends_when_its_starter_is_killed(
    server_kind: Kind, starter: Callable[[str], None], is_paused: bool
) -> None:
    with Stage() as stage:
        actor = stage.start(starter, server_kind.name)
        [pid, watchdog, folder] = actor.hear("started")
        with end_of(pid) as server_ends, end_of(watchdog) as watchdog_ends:
            if is_paused:
                os.kill(pid, signal.SIGSTOP)
            actor.kill()
            assert select.select([server_ends], [], [], LONG)[0]
            assert select.select([watchdog_ends], [], [], LONG)[0]
        assert not Path(folder).exists()


@contextmanager
def end_of(pid: int) -> Iterator[int]:
    """Something to select, which can be read when that process has ended; it need not be a child of ours."""
    if not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfd_open on this machine")
    handle = os.pidfd_open(pid)
    yield handle
    os.close(handle)


def test_a_paused_server_is_silent_until_it_is_resumed(private_server: Server) -> None:
    assert is_listening(private_server)
    private_server.pause()
    with client(private_server.url, patience=0.05) as hasty, pytest.raises(redis.TimeoutError):
        hasty.ping()
    private_server.resume()
    assert is_listening(private_server)


def test_a_paused_server_can_be_stopped(private_server: Server) -> None:
    private_server.pause()
    private_server.stop()
    assert not private_server.is_running


def test_a_server_that_was_stopped_comes_back_with_its_data_on_the_same_port(private_server: Server) -> None:
    write(private_server)
    url, pid = private_server.url, private_server.pid
    private_server.restart()
    assert (private_server.url, value(private_server)) == (url, "written")
    assert private_server.pid != pid


def test_a_server_can_come_back_without_its_data(start_server: Callable[..., Server]) -> None:
    server = start_server(appendonly=True)
    write(server)
    server.restart(empty=True)
    assert value(server) is None


@pytest.mark.parametrize("appendonly", [False, True])
def test_a_killed_server_comes_back_with_what_it_has_appended(
    start_server: Callable[..., Server], appendonly: bool
) -> None:
    server = start_server(appendonly=appendonly)
    write(server)
    server.kill()
    assert not is_listening(server)
    server.restart()
    assert value(server) == ("written" if appendonly else None)


def test_a_password_is_asked_for(start_server: Callable[..., Server]) -> None:
    server = start_server(password="secret/s")  # noqa: S106 - not a secret
    with client(server.url) as talk, client(server.socket_url) as local:
        assert talk.ping()
        assert local.ping()
    with client(f"redis://127.0.0.1:{server.port}") as stranger, pytest.raises(AuthenticationError):
        stranger.ping()
    server.flush()


def test_a_user_may_do_what_the_rules_say(start_server: Callable[..., Server]) -> None:
    server = start_server(users={"app": "on >secret ~dibs:* &dibs:* +@all -@dangerous"})
    with client(server.url_of("app", "secret")) as talk:
        talk.set("dibs:a", 1)
        with pytest.raises(NoPermissionError):
            talk.set("a", 1)
    with client(server.url_of("app", "wrong")) as stranger, pytest.raises(AuthenticationError):
        stranger.ping()


def test_a_line_of_configuration_has_the_last_word(start_server: Callable[..., Server]) -> None:
    server = start_server("maxmemory-policy allkeys-lru", "appendonly no", appendonly=True)
    assert server.ask("CONFIG", "GET", "maxmemory-policy") == ["maxmemory-policy", "allkeys-lru"]
    assert server.ask("CONFIG", "GET", "appendonly") == ["appendonly", "no"]


@pytest.mark.skipif(sys.platform != "linux", reason="no LD_PRELOAD on this machine")
def test_a_server_can_be_given_a_shim(start_server: Callable[..., Server]) -> None:
    server = start_server(env={"LD_PRELOAD": "no-such-shim.so"})
    assert "no-such-shim.so" in server.log  # the loader says so, and goes on


def test_tls_is_to_be_had_in_front_of_any_server(tls_url: str) -> None:
    assert tls_url.startswith("rediss://")
    with client(tls_url) as talk:
        talk.set("a", "x" * 300_000)
        assert talk.get("a") == "x" * 300_000


def test_a_client_that_trusts_another_certificate_is_not_served(tls_proxy: Proxy, tmp_path: Path) -> None:
    other = make(tmp_path)
    assert other is not None
    with client(other.url(tls_proxy.port)) as talk, pytest.raises(redis.ConnectionError, match="certificate"):
        talk.ping()


@pytest.mark.parametrize("server_kind", [REDIS], ids=str, indirect=True)
def test_a_server_that_was_built_with_tls_speaks_it(
    start_server: Callable[..., Server], server_kind: Kind, certificate: Certificate
) -> None:
    if not server_kind.speaks_tls():
        pytest.skip("no TLS in the redis-server on this machine")
    with client(start_server(certificate=certificate).tls_url) as talk:
        assert talk.ping()


def test_a_kind_that_is_missing_is_named_by_the_skip() -> None:
    with pytest.raises(pytest.skip.Exception, match="no such server on this machine"):
        there(Kind("such", "no such server on this machine", lambda: None))


def test_ports_are_given_out_once() -> None:
    ports = [Port() for _ in range(50)]
    assert len({port.number for port in ports}) == 50
    for port in ports:
        port.close()
