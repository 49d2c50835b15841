"""Redis and Valkey keep the contract, and answer as the specification does."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache

import pytest

from dibs.ports.wire import Backend
from dibs.stores.redis import open_store
from dibs.testing.contract import LockContract, store_against_memory
from tests.servers.kinds import REDIS, VALKEY_8, VALKEY_9, Kind
from tests.servers.server import Server

OLD = "?protocol=2"
"""Has redis-py talk as with servers that know no other way."""


class TestRedis(LockContract):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


@pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)
class TestRedisByResp2(LockContract):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url + OLD)


@pytest.mark.parametrize("server_kind", [VALKEY_9], ids=str, indirect=True)
class TestRedisByTls(LockContract):
    @pytest.fixture
    def backend(self, tls_url: str) -> Backend:
        return open_store(tls_url)


@cache
def _running(kind: Kind) -> Server:
    server = Server(kind).__enter__()
    atexit.register(server.__exit__)
    return server


def _emptied(kind: Kind, more: str = "") -> Callable[[Callable[[], float]], Backend]:
    def make(_: Callable[[], float]) -> Backend:
        server = _running(kind)
        server.flush()
        return open_store(server.url + more)

    return make


def _against_memory(kind: Kind, colour: str, more: str = "") -> type:
    case: type = store_against_memory(_emptied(kind, more), colour=colour, can_advance=False, examples=40)  # type: ignore[arg-type]
    return pytest.mark.skipif(kind.program() is None, reason=kind.missing)(case)


TestValkey9 = _against_memory(VALKEY_9, "blocking")
TestValkey9ByTasks = _against_memory(VALKEY_9, "asyncio")
TestValkey9ByResp2 = _against_memory(VALKEY_9, "blocking", OLD)
TestValkey9ByTasksAndResp2 = _against_memory(VALKEY_9, "asyncio", OLD)
TestValkey8 = _against_memory(VALKEY_8, "blocking")
TestValkey8ByTasks = _against_memory(VALKEY_8, "asyncio")
TestRedis7 = _against_memory(REDIS, "blocking")
TestRedis7ByTasks = _against_memory(REDIS, "asyncio")
