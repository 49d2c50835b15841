"""The proxy that does harm on the way between a client and a server."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from typing import Any, Self

import hiredis
import pytest

from tests.chaos.stage import LONG
from tests.servers import resp
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST
from tests.servers.proxy import Proxy
from tests.servers.server import Server

pytestmark = on_valkey_9
MORE = object()
PUSH = resp.command("RPUSH", "q", "x")


class Talk:
    """A client that does nothing by itself: no greeting, no second try."""

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection((HOST, port), LONG)
        self._reader = hiredis.Reader(encoding="utf-8", notEnoughData=MORE)

    def say(self, *words: str) -> None:
        self._line.sendall(resp.command(*words))

    def hear(self) -> Any:
        while (reply := self._reader.gets()) is MORE:
            data = self._line.recv(65536)
            assert data, "it has hung up"
            self._reader.feed(data)
        return reply

    def ask(self, *words: str) -> Any:
        self.say(*words)
        return self.hear()

    def hears_something(self) -> bool:
        return bool(select.select([self._line], [], [], 0)[0])

    def hear_out(self) -> bytes:
        """All bytes until the connection ends, however it does."""
        heard = b""
        try:
            while data := self._line.recv(65536):
                heard += data
        except ConnectionError:
            pass
        return heard

    def leave(self) -> None:
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


@pytest.fixture
def talk(proxy: Proxy) -> Iterator[Talk]:
    with Talk(proxy.port) as talk:
        yield talk


def test_what_passes_is_counted(proxy: Proxy, talk: Talk) -> None:
    assert talk.ask("SET", "a", "1") == "OK"
    assert talk.ask("get", "a") == "1"
    assert (proxy.commands, proxy.replies, proxy.arrived) == (["SET", "GET"], 2, 2)
    proxy.wait_for(arrived=2, commands=2, replies=2)
    with pytest.raises(AssertionError, match="2 replies"):
        proxy.wait_for(replies=3, within=0.01)


def test_a_message_that_comes_in_pieces_or_with_others_is_counted_once(proxy: Proxy, talk: Talk) -> None:
    stream = resp.command("ECHO", "a\r\nb") + b"PING\r\n" + resp.command("SET", "a", "x" * 100_000)
    for start in range(60):
        talk._line.sendall(stream[start : start + 1])
    talk._line.sendall(stream[60:] + resp.command("GET", "a"))
    assert [talk.hear() for _ in range(4)] == ["a\r\nb", "PONG", "OK", "x" * 100_000]
    assert (proxy.commands, proxy.replies) == (["ECHO", "PING", "SET", "GET"], 4)


def test_all_sorts_of_replies_are_counted_once(start_server: Callable[..., Server]) -> None:
    sorts = ("string", "integer", "double", "null", "array", "set", "map", "verbatim", "true", "false", "bignum")
    server = start_server("enable-debug-command local")
    with Proxy(server.port) as proxy, Talk(proxy.port) as talk:
        talk.ask("HELLO", "3")
        for number, sort in enumerate(sorts, 2):
            talk.ask("DEBUG", "PROTOCOL", sort)
            assert proxy.replies == number


def test_a_dropped_reply_never_comes_though_the_command_was_done(proxy: Proxy, talk: Talk, server: Server) -> None:
    dropped = proxy.drop_reply(2)
    assert talk.ask("INCR", "a") == 1
    talk.say("INCR", "a")
    dropped.wait()
    assert server.ask("GET", "a") == "2"
    assert talk.ask("INCR", "a") == 3  # the next one it hears
    assert (len(proxy.commands), proxy.replies) == (3, 2)


def test_the_reply_to_one_command_is_dropped(proxy: Proxy, talk: Talk) -> None:
    proxy.drop_reply(of="get")
    for words in ("SET a 1", "GET a", "SET a 2", "GET a"):
        talk.say(*words.split())
    assert [talk.hear() for _ in range(3)] == ["OK", "OK", "2"]


def test_a_held_request_is_done_when_it_is_released(proxy: Proxy, talk: Talk, server: Server) -> None:
    held = proxy.hold_request(2)
    assert talk.ask("SET", "a", "1") == "OK"
    talk.say("SET", "a", "2")
    held.wait()
    assert server.ask("GET", "a") == "1"
    assert (proxy.arrived, proxy.commands) == (2, ["SET"])
    with Talk(proxy.port) as other:
        assert other.ask("GET", "a") == "1"  # nobody else is held up
    held.release()
    assert talk.hear() == "OK"
    assert server.ask("GET", "a") == "2"


def test_a_held_request_is_done_even_if_its_client_has_left(proxy: Proxy, talk: Talk, server: Server) -> None:
    held = proxy.hold_request(of="RPUSH")
    talk.say("RPUSH", "q", "late")
    held.wait()
    talk.leave()
    held.release()
    assert server.ask("BLPOP", "q", "20") == ["q", "late"]


def test_a_held_reply_comes_when_it_is_released(proxy: Proxy, talk: Talk, server: Server) -> None:
    held = proxy.hold_reply()
    talk.say("SET", "a", "1")
    held.wait()
    assert server.ask("GET", "a") == "1"
    assert not talk.hears_something()
    held.release()
    assert talk.hear() == "OK"


@pytest.mark.parametrize("count", [0, 1, len(PUSH) - 1, len(PUSH)])
def test_a_connection_is_cut_after_some_bytes_to_the_server(
    proxy: Proxy, talk: Talk, server: Server, count: int
) -> None:
    assert talk.ask("PING") == "PONG"
    cut = proxy.cut_requests(after=count)
    talk.say("RPUSH", "q", "x")
    cut.wait()
    talk.hear_out()
    if count == len(PUSH):
        assert server.ask("BLPOP", "q", "20") == ["q", "x"]
    assert server.ask("LLEN", "q") == 0
    assert proxy.commands == (["PING", "RPUSH"] if count == len(PUSH) else ["PING"])
    with Talk(proxy.port) as again:
        assert again.ask("PING") == "PONG"


@pytest.mark.parametrize("count", [0, 1, 6, 7])
def test_a_connection_is_cut_after_some_bytes_to_the_client(
    proxy: Proxy, talk: Talk, server: Server, count: int
) -> None:
    assert talk.ask("PING") == "PONG"
    cut = proxy.cut_replies(after=count)
    talk.say("ECHO", "a")  # $1\r\na\r\n
    assert talk.hear_out() == b"$1\r\na\r\n"[:count]
    cut.wait()
    assert proxy.commands == ["PING", "ECHO"]
    assert proxy.replies == (2 if count == 7 else 1)


def test_bytes_are_counted_over_several_messages(proxy: Proxy, talk: Talk) -> None:
    proxy.cut_replies(after=10)
    talk._line.sendall(resp.command("PING") * 3)
    assert talk.hear_out() == b"+PONG\r\n+PO"
    assert proxy.replies == 1


def test_what_goes_into_a_black_hole_comes_out_late(proxy: Proxy, talk: Talk, server: Server) -> None:
    assert talk.ask("PING") == "PONG"
    proxy.blackhole()
    talk.say("SET", "a", "1")
    with Talk(proxy.port) as other:  # is let in, and not heard either
        other.say("SET", "b", "1")
        proxy.wait_for(arrived=3)
        assert server.ask("EXISTS", "a", "b") == 0
        assert proxy.commands == ["PING"]
        proxy.resume()
        assert (talk.hear(), other.hear()) == ("OK", "OK")


def test_a_reply_does_not_leave_a_black_hole(proxy: Proxy, talk: Talk, server: Server) -> None:
    talk.say("BLPOP", "q", "0")
    proxy.wait_for(commands=1)
    proxy.blackhole()
    server.ask("RPUSH", "q", "x")
    assert not talk.hears_something()
    proxy.resume()
    assert talk.hear() == ["q", "x"]


def test_the_end_of_a_connection_does_not_leave_a_black_hole(proxy: Proxy, talk: Talk, server: Server) -> None:
    assert talk.ask("CLIENT", "SETNAME", "me") == "OK"
    proxy.blackhole()
    talk.leave()
    with Talk(proxy.port) as other:
        other.say("PING")
        proxy.wait_for(arrived=2)
    assert "name=me" in server.ask("CLIENT", "LIST")


def test_what_is_cut_in_a_black_hole_is_lost(proxy: Proxy, talk: Talk, server: Server) -> None:
    proxy.blackhole()
    talk.say("SET", "a", "1")
    proxy.wait_for(arrived=1)
    proxy.cut()
    proxy.resume()
    assert talk.hear_out() == b""
    assert server.ask("EXISTS", "a") == 0


def test_a_proxy_that_refuses_keeps_whom_it_has(proxy: Proxy, talk: Talk) -> None:
    assert talk.ask("PING") == "PONG"
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        Talk(proxy.port)
    assert talk.ask("PING") == "PONG"
    proxy.resume()
    with Talk(proxy.port) as other:
        assert other.ask("PING") == "PONG"


def test_all_connections_can_be_cut_at_once(proxy: Proxy, talk: Talk) -> None:
    with Talk(proxy.port) as other:
        assert (talk.ask("PING"), other.ask("PING")) == ("PONG", "PONG")
        proxy.cut()
        assert (talk.hear_out(), other.hear_out()) == (b"", b"")


def test_resume_forgets_what_was_to_go_wrong(proxy: Proxy, talk: Talk) -> None:
    held = proxy.hold_request()
    proxy.drop_reply()
    proxy.drop_push()
    proxy.cut_replies(after=1)
    talk.say("PING")
    held.wait()
    proxy.resume()
    assert talk.hear() == "PONG"


@pytest.mark.parametrize("protocol", ["2", "3"])
def test_a_push_is_no_reply_and_can_be_lost(proxy: Proxy, talk: Talk, server: Server, protocol: str) -> None:
    talk.ask("HELLO", protocol)
    assert talk.ask("SUBSCRIBE", "news") == ["subscribe", "news", 1]
    lost = proxy.drop_push(2, of="message")
    for news in ("one", "two", "three"):
        server.ask("PUBLISH", "news", news)
    assert [talk.hear()[2] for _ in range(2)] == ["one", "three"]
    lost.wait()
    talk.say("UNSUBSCRIBE")
    talk.hear()
    proxy.drop_reply(of="PING")
    talk.say("PING")
    assert talk.ask("ECHO", "a") == "a"
    assert (proxy.replies, proxy.pushes) == (2, 4)


def test_a_client_of_a_server_that_is_down_is_turned_away(private_server: Server) -> None:
    with Proxy(private_server.port) as proxy:
        with Talk(proxy.port) as talk:
            assert talk.ask("PING") == "PONG"
            private_server.kill()
            assert talk.hear_out() == b""
        with Talk(proxy.port) as talk:
            assert talk.hear_out() == b""
        private_server.restart()
        with Talk(proxy.port) as talk:
            assert talk.ask("PING") == "PONG"
