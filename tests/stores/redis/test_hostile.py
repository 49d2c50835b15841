"""What broken connections can do to the store, and what they cannot."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

import dibs
from dibs import Dibs
from dibs.stores.redis.blocking import RedisWire
from tests.chaos.moments import LONG, so
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server


@pytest.fixture
def server_kind() -> Kind:
    return there(VALKEY_9)


def wire_of(d: Dibs) -> RedisWire:
    return cast("RedisWire", d._engine.blocking("look")._wire)


def test_closing_after_the_loop_has_ended_hangs_up(private_server: Server) -> None:
    d = dibs.connect(private_server.url)

    async def main() -> None:
        async with d.lock("a"):
            pass

    asyncio.run(main())
    d.close()
    assert so(lambda: private_server.ask("CLIENT", "LIST").count("id=") == 1).wait(LONG)


def test_closing_a_line_of_tls_ends_its_thread(encrypted: Server) -> None:
    for _ in range(5):
        with dibs.connect(encrypted.tls_url) as d, d.lock("a"):
            thread = wire_of(d)._trunk._thread
        assert thread is not None
        thread.join(LONG)
        assert not thread.is_alive()


def test_a_trunk_that_hears_nonsense_is_opened_again(server: Server) -> None:
    with dibs.connect(server.url) as d, d.lock("a"):
        wire = wire_of(d)
        trunk, talk = wire._trunk, wire._trunk._talk
        assert talk is not None
        talk._dialogue._reader.feed(b"nonsense\r\n")
        server.ask("PUBLISH", wire.channel, "wake up")
        assert so(lambda: trunk._talk not in (None, talk)).wait(LONG)


def test_an_answer_that_makes_no_sense_is_no_answer_and_is_asked_for_again_elsewhere(server: Server) -> None:
    with dibs.connect(server.url) as d:
        d.lock("a").acquire().release()
        [call] = wire_of(d)._idle
        call._reader.feed(b"nonsense\r\n")
        lease = d.try_lock("a").acquire()
        assert lease is not None
        assert call not in wire_of(d)._idle
        lease.release()
        assert d.inspect("a").state == "free"
