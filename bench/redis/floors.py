"""What no lock on Redis can be faster than: SET NX PX and a compare-and-delete, with nothing around them."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any

from bench.redis.line import HOST, line

COMPARE_AND_DELETE = b"""\
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""
SHA = hashlib.sha1(COMPARE_AND_DELETE).hexdigest().encode()  # noqa: S324 - it is how Redis names a script
TOKEN = b"0123456789abcdef0123456789abcdef"
SET = b"*6\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$32\r\n" + TOKEN + b"\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n"
DELETE = b"*5\r\n$7\r\nEVALSHA\r\n$40\r\n" + SHA + b"\r\n$1\r\n1\r\n$%d\r\n%b\r\n$32\r\n" + TOKEN + b"\r\n"
ROOM = 65_536
NOTHING = object()


class NotAsExpected(Exception):
    """The server said something else than yes: then this is no cycle."""


@contextmanager
def raw_threads(port: int) -> Iterator[Callable[[str], RawThreadLock]]:
    """A connection for each thread."""
    _load(port)
    lines = _Lines(port)
    yield lambda key: RawThreadLock(lines, key)


@asynccontextmanager
async def raw_tasks(port: int) -> AsyncIterator[Callable[[str], RawTaskLock]]:
    """One connection for all tasks."""
    async with raw_lines([port]) as [shared]:
        yield lambda key: RawTaskLock(shared, key)


@asynccontextmanager
async def raw_tasks_on_many(ports: Sequence[int]) -> AsyncIterator[Callable[[str], RawQuorumLock]]:
    """One connection to each of several servers for all tasks."""
    async with raw_lines(ports) as lines:
        yield lambda key: RawQuorumLock(lines, key)


@asynccontextmanager
async def raw_lines(ports: Sequence[int]) -> AsyncIterator[Sequence[SharedLine]]:
    """A connection to each of these servers."""
    with ExitStack() as stack:
        lines = list[SharedLine]()
        for port in ports:
            _load(port)
            transport, shared = await asyncio.get_running_loop().create_connection(SharedLine, HOST, port)
            stack.callback(transport.close)
            lines.append(shared)
        yield lines


def _load(port: int) -> None:
    with line(port) as control:
        control.script_load(COMPARE_AND_DELETE)


class _Lines(threading.local):
    """The calling thread's own connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, words: bytes, wanted: bytes) -> None:
        self._socket.sendall(words)
        if (said := self._socket.recv(ROOM)) != wanted:
            raise NotAsExpected(said)


class RawThreadLock:
    """Two commands that look like a lock."""

    __slots__ = ("_key", "_lines")

    def __init__(self, lines: _Lines, key: str) -> None:
        self._lines, self._key = lines, key.encode()

    def __enter__(self) -> None:
        self._lines.ask(SET % (len(self._key), self._key), b"+OK\r\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.ask(DELETE % (len(self._key), self._key), b":1\r\n")


class SharedLine(asyncio.BufferedProtocol):
    """A connection for all tasks of a loop: what they ask in one turn of it goes out in one write."""

    def __init__(self) -> None:
        self._reader = import_module("hiredis").Reader(notEnoughData=NOTHING)
        self._loop, self._room = asyncio.get_running_loop(), bytearray(ROOM)
        self._asked: deque[asyncio.Future[Any]] = deque()
        self._unsent: list[bytes] = []
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        self._reader.feed(self._room, 0, nbytes)
        while (answer := self._reader.gets()) is not NOTHING:
            self._asked.popleft().set_result(answer)

    def ask(self, words: bytes) -> asyncio.Future[Any]:
        """Sent at once if nobody waits for anything, else together with what others have to say in this turn."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        if not self._asked:
            self._transport.write(words)
        else:
            if not self._unsent:
                self._loop.call_soon(self._send)
            self._unsent.append(words)
        self._asked.append(answer)
        return answer

    def _send(self) -> None:
        self._transport.write(b"".join(self._unsent))
        self._unsent.clear()


class RawTaskLock:
    """Two commands that look like a lock."""

    __slots__ = ("_key", "_line")

    def __init__(self, line: SharedLine, key: str) -> None:
        self._line, self._key = line, key.encode()

    async def __aenter__(self) -> None:
        if (said := await self._line.ask(SET % (len(self._key), self._key))) != b"OK":
            raise NotAsExpected(said)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (said := await self._line.ask(DELETE % (len(self._key), self._key))) != 1:
            raise NotAsExpected(said)


class RawQuorumLock:
    """The same on several servers at once. All are waited for: to count who has answered would cost more than that."""

    __slots__ = ("_key", "_lines")

    def __init__(self, lines: Sequence[SharedLine], key: str) -> None:
        self._lines, self._key = lines, key.encode()

    async def __aenter__(self) -> None:
        await self._ask(SET % (len(self._key), self._key), b"OK")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._ask(DELETE % (len(self._key), self._key), 1)

    async def _ask(self, words: bytes, wanted: object) -> None:
        for answer in [each.ask(words) for each in self._lines]:
            if (said := await answer) != wanted:
                raise NotAsExpected(said)
