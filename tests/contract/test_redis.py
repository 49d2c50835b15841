"""Redis and Valkey keep the contract, and answer as the specification does."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest
import redis
import redis.asyncio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from dibs.ports.store import Command
from dibs.ports.wire import Backend
from dibs.stores.redis import open_client, open_store
from dibs.stores.redis.scripts import MICRO
from dibs.testing.contract import LockContract, SheetContract
from dibs.testing.contract.against_memory import StoreAgainstMemory
from dibs.testing.contract.beside_memory import BesideMemory
from dibs.testing.contract.lines import LINES
from dibs.testing.contract.sheets_against_memory import SheetsAgainstMemory
from tests.servers.fixtures import FIRST, on_valkey_9
from tests.servers.kinds import REDIS, VALKEY_8, VALKEY_9, Kind
from tests.servers.ports import HOST
from tests.servers.server import Server
from tests.servers.skew import NO_SHIM, Skewed, at_true_time, environment, shim_in

Colour = Literal["blocking", "asyncio"]
Opened = Callable[[Server], Backend]


class TestRedis(LockContract):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


@pytest.mark.thorough
@on_valkey_9
class TestRedisByTls(LockContract):
    brief = 0.8

    @pytest.fixture
    def backend(self, tls_url: str) -> Backend:
        return open_store(tls_url)


WAYS = [
    pytest.param({"decode_responses": True}, id="decoding"),
    pytest.param({"decode_responses": False, "protocol": 2}, id="RESP2", marks=pytest.mark.thorough),
]


@pytest.mark.thorough
@on_valkey_9
class TestRedisByOnesOwnClient(LockContract):
    """Of which we take the way to the server, and the protocol, and nothing else."""

    @pytest.fixture(params=WAYS)
    def backend(self, request: pytest.FixtureRequest, server: Server) -> Backend:
        return open_client(redis.Redis(host=HOST, port=server.port, **request.param))


class TestSheets(SheetContract):
    @pytest.fixture
    def backend(self, server_url: str) -> Backend:
        return open_store(server_url)


class TestSheetsByOnesOwnClient(SheetContract):
    @pytest.fixture(params=WAYS)
    def backend(self, request: pytest.FixtureRequest, server: Server) -> Backend:
        return open_client(redis.Redis(host=HOST, port=server.port, **request.param))


def by_url(server: Server) -> Backend:
    return open_store(server.url)


def by_resp2(server: Server) -> Backend:
    """As with servers that know no other way."""
    return open_store(f"{server.url}?protocol=2")


def by_a_client_that_decodes(server: Server) -> Backend:
    return open_client(redis.asyncio.Redis(host=HOST, port=server.port, decode_responses=True))


class AtItsTime(BesideMemory):
    """The specification is asked at the very moment at which the server has answered, however busy the machine is."""

    kind: Kind
    can_advance = False

    def _ask(self, command: Command[Any]) -> Any:
        answer = self._line.value(command)
        if isinstance(answer, list) and answer and isinstance(answer[0], int):
            self._now = answer[0] / MICRO
        return command.read(answer)


class WhileTimePasses(AtItsTime):
    """The same, on a server whose clock can be set: what lasts for a while runs out there as well."""

    @rule(seconds=st.sampled_from([1, 6, 10, 25]))
    def let_the_server_s_time_pass(self, seconds: int) -> None:
        _skewed(self.kind).step(seconds)
        self._look_at_the_clock()


def _against_memory(
    kind: Kind, colour: Colour, opened: Opened = by_url, *, of: type[BesideMemory] = StoreAgainstMemory
) -> type:
    case = _case((AtItsTime, of), kind, colour, lambda: opened(_emptied(_running(kind))))
    return _where_it_can_be(case if opened is by_url else pytest.mark.thorough(case), kind)


def _while_time_passes(kind: Kind, colour: Colour, *, of: type[BesideMemory] = StoreAgainstMemory) -> type:
    case = _case((WhileTimePasses, of), kind, colour, lambda: by_url(_emptied(_skewed(kind).server)))
    return _where_it_can_be(case if colour == "blocking" else pytest.mark.thorough(case), kind, NO_SHIM)


def _where_it_can_be(case: type, kind: Kind, missing: str = "") -> type:
    if kind is not FIRST:
        case = pytest.mark.thorough(case)
    missing = kind.missing if kind.program() is None else missing
    return pytest.mark.skipif(bool(missing), reason=missing)(case)


def _case(machines: tuple[type, ...], kind: Kind, colour: Colour, opened: Callable[[], Backend]) -> type:
    more = {"kind": kind, "make_line": LINES[colour], "make_backend": staticmethod(lambda _: opened())}
    case: type = type("OfThisKind", machines, more).TestCase  # type: ignore[attr-defined]
    examples = 40 if kind is FIRST else 20
    case.settings = settings(max_examples=examples, stateful_step_count=40, deadline=None)  # type: ignore[attr-defined]
    return case


def _emptied(server: Server) -> Server:
    server.flush()
    return server


@cache
def _running(kind: Kind) -> Server:
    server = Server(kind).__enter__()
    atexit.register(server.__exit__)
    return server


@cache
def _skewed(kind: Kind) -> Skewed:
    folder = tempfile.TemporaryDirectory()
    file = at_true_time(Path(folder.name))
    server = Server(kind, env=environment(shim_in(Path(folder.name)), file)).__enter__()
    atexit.register(folder.cleanup)
    atexit.register(server.__exit__)
    return Skewed(server, file)


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


TestValkey9WhileTimePasses = _while_time_passes(VALKEY_9, "blocking")
TestValkey9ByTasksWhileTimePasses = _while_time_passes(VALKEY_9, "asyncio")
TestValkey8WhileTimePasses = _while_time_passes(VALKEY_8, "blocking")
TestRedis7WhileTimePasses = _while_time_passes(REDIS, "blocking")


def _sheets(kind: Kind, colour: Colour, opened: Opened = by_url) -> type:
    return _against_memory(kind, colour, opened, of=SheetsAgainstMemory)


def _sheets_while_time_passes(kind: Kind, colour: Colour) -> type:
    return _while_time_passes(kind, colour, of=SheetsAgainstMemory)


TestSheetsOnValkey9 = _sheets(VALKEY_9, "blocking")
TestSheetsOnValkey9ByTasks = _sheets(VALKEY_9, "asyncio")
TestSheetsOnValkey9ByResp2 = _sheets(VALKEY_9, "blocking", by_resp2)
TestSheetsOnValkey9ByTasksDecoding = _sheets(VALKEY_9, "asyncio", by_a_client_that_decodes)
TestSheetsOnValkey8 = _sheets(VALKEY_8, "blocking")
TestSheetsOnRedis7 = _sheets(REDIS, "blocking")
TestSheetsOnRedis7ByTasks = _sheets(REDIS, "asyncio")
TestSheetsOnValkey9WhileTimePasses = _sheets_while_time_passes(VALKEY_9, "blocking")
TestSheetsOnValkey9ByTasksWhileTimePasses = _sheets_while_time_passes(VALKEY_9, "asyncio")
TestSheetsOnValkey8WhileTimePasses = _sheets_while_time_passes(VALKEY_8, "blocking")
TestSheetsOnRedis7WhileTimePasses = _sheets_while_time_passes(REDIS, "blocking")
