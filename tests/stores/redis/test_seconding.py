"""What was granted, and nobody could be asked whether replicas have it, is not taken for refused."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest

import dibs
from dibs import StoreUnreachable
from dibs.errors import StoreRefused
from dibs.runtime.clock import boottime
from dibs.stores.redis.blocking import RedisWire
from dibs.stores.redis.endpoint import Endpoint
from dibs.stores.redis.resp import encode
from dibs.stores.redis.seconding.dialect import Seconding
from dibs.stores.redis.seconding.seconder import Seconder
from tests.chaos.moments import so
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server

ANY = Seconding(encode("SET", "x", "1"), lambda _: True)
NOWHERE = {"host": "127.0.0.1", "port": 1}
NO_MORE = 2
"""The first connection is for the question itself, the second to ask for its replicas."""


def told_by(seconder: Seconder) -> StoreUnreachable | None:
    heard, said = threading.Event(), list[StoreUnreachable | None]()

    def told(trouble: StoreUnreachable | None) -> None:
        said.append(trouble)
        heard.set()

    seconder.second(ANY, told)
    assert heard.wait(5)
    seconder.close()
    return said[0]


def test_a_grant_that_no_connection_was_had_for_was_made_all_the_same() -> None:
    trouble = told_by(Seconder(Endpoint(NOWHERE, server="nowhere", tls=False), 1, boottime))
    assert isinstance(trouble, StoreUnreachable)
    assert not isinstance(trouble, StoreRefused)
    assert "refused" in trouble.why


def test_so_was_one_that_came_as_we_hung_up() -> None:
    seconder = Seconder(Endpoint(NOWHERE, server="nowhere", tls=False), 1, boottime)
    seconder.close()
    trouble = told_by(seconder)
    assert isinstance(trouble, StoreUnreachable)
    assert not isinstance(trouble, StoreRefused)


@on_valkey_9
def test_several_that_were_granted_and_could_not_be_seconded_are_given_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, given = RedisWire._take, list[int]()

    def take(wire: RedisWire, give_up_at: float) -> Any:
        given.append(1)
        if len(given) == NO_MORE:
            raise StoreRefused.unconnected("it", after=0.0)
        return taken(wire, give_up_at)

    with dibs.connect(f"{server.url}?min_replicas=1", quiet=True) as d:
        with suppress(StoreUnreachable):
            d.lock("warm", wait=0.1).acquire()
        monkeypatch.setattr(RedisWire, "_take", take)
        with pytest.raises(StoreUnreachable):
            d.lock_all("{a}1", "{a}2", ttl=60, wait=0.3).acquire()
        assert len(given) >= NO_MORE
        assert so(lambda: not server.ask("EXISTS", "dibs:{a}1", "dibs:{a}2")).wait(5)
