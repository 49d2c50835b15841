"""Redis and Valkey keep the contract, and answer as the specification does."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import pytest
import redis
import redis.asyncio

from dibs.ports.wire import Backend
from dibs.stores.redis import open_client, open_store
from dibs.testing.contract import LockContract, store_against_memory
from tests.servers.fixtures import on_valkey_9
from tests.servers.kinds import REDIS, VALKEY_8, VALKEY_9, Kind
from tests.servers.ports import HOST
from tests.servers.server import Server

Colour = Literal["blocking", "asyncio"]
Opened = Callable[[Server], Backend]


class TestRedis(LockContract):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


@on_valkey_9
class TestRedisByTls(LockContract):
    brief = 0.8

    @pytest.fixture
    def backend(self, tls_url: str) -> Backend:
        return open_store(tls_url)


WAYS: dict[str, dict[str, Any]] = {
    "decoding": {"decode_responses": True},
    "RESP2": {"decode_responses": False, "protocol": 2},
}


@on_valkey_9
class TestRedisByOnesOwnClient(LockContract):
    """Of which we take the way to the server, and the protocol, and nothing else."""

    @pytest.fixture(params=WAYS.values(), ids=list(WAYS))
    def backend(self, request: pytest.FixtureRequest, server: Server) -> Backend:
        return open_client(redis.Redis(host=HOST, port=server.port, **request.param))


def by_url(server: Server) -> Backend:
    return open_store(server.url)


def by_resp2(server: Server) -> Backend:
    """As with servers that know no other way."""
    return open_store(f"{server.url}?protocol=2")


def by_a_client_that_decodes(server: Server) -> Backend:
    return open_client(redis.asyncio.Redis(host=HOST, port=server.port, decode_responses=True))


def _against_memory(kind: Kind, colour: Colour, opened: Opened = by_url) -> type:
    def emptied(_: Callable[[], float]) -> Backend:
        server = _running(kind)
        server.flush()
        return opened(server)

    case: type = store_against_memory(emptied, colour=colour, can_advance=False, examples=40)
    return pytest.mark.skipif(kind.program() is None, reason=kind.missing)(case)


@cache
def _running(kind: Kind) -> Server:
    server = Server(kind).__enter__()
    atexit.register(server.__exit__)
    return server


TestValkey9 = _against_memory(VALKEY_9, "blocking")
TestValkey9ByTasks = _against_memory(VALKEY_9, "asyncio")
TestValkey9ByResp2 = _against_memory(VALKEY_9, "blocking", by_resp2)
TestValkey9ByTasksAndResp2 = _against_memory(VALKEY_9, "asyncio", by_resp2)
TestValkey9Decoding = _against_memory(VALKEY_9, "blocking", by_a_client_that_decodes)
TestValkey9ByTasksDecoding = _against_memory(VALKEY_9, "asyncio", by_a_client_that_decodes)
TestValkey8 = _against_memory(VALKEY_8, "blocking")
TestValkey8ByTasks = _against_memory(VALKEY_8, "asyncio")
TestRedis7 = _against_memory(REDIS, "blocking")
TestRedis7ByTasks = _against_memory(REDIS, "asyncio")
