"""A proxy between clients and a server, which counts what passes and does harm when it is told to."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self, TypeVar

from tests.chaos.stage import LONG
from tests.servers import resp
from tests.servers.certificate import Certificate
from tests.servers.faults import Fault, Hold, Lane
from tests.servers.ports import HOST, Port
from tests.servers.tally import Tally

T = TypeVar("T")
F = TypeVar("F", bound=Fault)


class Cut(ConnectionError):
    """The connection ends here, because a test wants it to."""


class Proxy(Tally):
    """Passes all on to a port of this machine until told otherwise; with a certificate, its clients speak TLS to it.

    A fault strikes once, at the n-th message since it was asked for, over all connections: the next one is the first.
    `of` counts only that command, or replies to it. Whatever happens here happens in one thread, in its event loop.
    """

    def __init__(self, upstream: int, *, certificate: Certificate | None = None) -> None:
        super().__init__()
        self._upstream, self._certificate, self._port = upstream, certificate, Port()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._listener: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.Event] = {}
        self._requests, self._answers, self._pushed = Lane(), Lane(), Lane()
        self._open = asyncio.Event()
        self._mistakes: list[BaseException] = []

    @property
    def port(self) -> int:
        return self._port.number

    @property
    def url(self) -> str:
        """For the default user, if it needs no password."""
        return self._certificate.url(self.port) if self._certificate else f"redis://{HOST}:{self.port}/0"

    def drop_reply(self, nth: int = 1, *, of: str | None = None) -> Fault:
        """The client does not get it, and is left waiting."""
        return self._plan(self._answers, Fault(), nth, of)

    def drop_push(self, nth: int = 1, *, of: str | None = None) -> Fault:
        """The client does not hear of it; `of` may be "message" or "subscribe"."""
        return self._plan(self._pushed, Fault(), nth, of)

    def hold_request(self, nth: int = 1, *, of: str | None = None) -> Hold:
        """The server does not get it until it is released; the client may be gone by then."""
        return self._plan(self._requests, Hold(self._loop), nth, of)

    def hold_reply(self, nth: int = 1, *, of: str | None = None) -> Hold:
        """The client does not get it until it is released."""
        return self._plan(self._answers, Hold(self._loop), nth, of)

    def cut_requests(self, *, after: int) -> Fault:
        """End the connection when so many more bytes have gone to the server; 0: when the next would."""
        return self._plan_cut(self._requests, after)

    def cut_replies(self, *, after: int) -> Fault:
        """End the connection when so many more bytes have gone to a client; 0: when the next would."""
        return self._plan_cut(self._answers, after)

    def cut(self) -> None:
        """End all connections now; what was held back on them is lost."""
        self._run(self._hang_up())

    def blackhole(self) -> None:
        """Take what comes, and pass nothing on: not a byte, and not the end of a connection."""
        self._do(self._open.clear)

    def refuse(self) -> None:
        """Let nobody in; those who are in may stay."""
        self._do(self._close_the_door)

    def resume(self) -> None:
        """All is well again: no fault is to come, and what was held back goes on, late as it is."""
        self._run(self._recover())

    def start(self) -> None:
        self._thread.start()
        self.resume()

    def stop(self) -> None:
        """End it, and all connections; complains if it was at fault itself."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LONG)
        self._loop.close()
        self._port.close()
        assert not self._mistakes, self._mistakes

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _plan(self, lane: Lane, fault: F, nth: int, of: str | None) -> F:
        self._do(lambda: lane.plan(fault, nth, of))
        return fault

    def _plan_cut(self, lane: Lane, after: int) -> Fault:
        fault = Fault()
        self._do(lambda: lane.cut_after(fault, after))
        return fault

    def _do(self, action: Callable[[], T]) -> T:
        async def act() -> T:
            return action()

        return self._run(act())

    def _run(self, flow: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(flow, self._loop).result(LONG)

    # From here on, all is run by the loop.

    async def _recover(self) -> None:
        for lane in (self._requests, self._answers, self._pushed):
            lane.clear()
        self._open.set()
        if self._listener is None:
            tls = self._certificate.context() if self._certificate else None
            self._listener = await asyncio.start_server(self._welcome, HOST, self.port, ssl=tls)

    def _close_the_door(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def _hang_up(self) -> None:
        for over in self._connections.values():
            over.set()
        await asyncio.gather(*self._connections)

    async def _close(self) -> None:
        self._close_the_door()
        await self._hang_up()
        if at_the_door := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(at_the_door, timeout=1)
            await self._hang_up()

    def _welcome(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        over = asyncio.Event()
        connection = self._loop.create_task(self._connect(from_client, to_client, over))
        self._connections[connection] = over
        connection.add_done_callback(self._connections.pop)

    async def _connect(
        self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter, over: asyncio.Event
    ) -> None:
        """Carry both ways until one comes to its end or all is over; nobody cancels this, so it always cleans up."""
        try:
            from_server, to_server = await asyncio.open_connection(HOST, self._upstream)
        except OSError:
            await _close(to_client)
            return
        for writer in (to_client, to_server):
            # So that `drain` waits for the last byte; with a mark of 0, TLS would wait for a byte less than none.
            writer.transport.set_write_buffer_limits(high=1, low=0)
        unanswered = deque[str]()
        ways = [
            asyncio.create_task(self._carry_requests(from_client, to_server, unanswered)),
            asyncio.create_task(self._carry_replies(from_server, to_client, unanswered)),
            asyncio.create_task(over.wait()),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        ends = await asyncio.gather(*ways, return_exceptions=True)
        self._mistakes += [end for end in ends if isinstance(end, Exception) and not isinstance(end, OSError)]
        await _close(to_client)
        await _close(to_server)

    async def _carry_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, unanswered: deque[str]
    ) -> None:
        inbox = resp.Inbox(reader)
        while batch := await inbox.batch():
            self.count(arrived=len(batch))
            for message in batch:
                name = resp.name(message)
                if (fault := self._requests.fate(name)) is not None:
                    await _suffer(fault)
                data, end = await self._share(self._requests, message)
                if resp.is_answered(name):
                    unanswered.append(name)
                writer.write(data)
                if data == message:
                    self.count(command=name)
                await _settle(writer, end)
        await self._open.wait()

    async def _carry_replies(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, unanswered: deque[str]
    ) -> None:
        inbox = resp.Inbox(reader)
        while batch := await inbox.batch():
            for message in batch:
                is_push = resp.is_push(message)
                if (fault := self._fate(message, unanswered)) is not None and not await _suffer(fault):
                    continue
                data, end = await self._share(self._answers, message)
                if data == message:
                    self.count(pushes=is_push, replies=not is_push)  # before its client can have seen it
                writer.write(data)
                await _settle(writer, end)
        await self._open.wait()

    def _fate(self, message: bytes, unanswered: deque[str]) -> Fault | None:
        if resp.is_push(message):
            return self._pushed.fate(resp.name(message))
        return self._answers.fate(unanswered.popleft() if unanswered else "")

    async def _share(self, lane: Lane, message: bytes) -> tuple[bytes, Fault | None]:
        await self._open.wait()
        return lane.share(message)


async def _suffer(fault: Fault) -> bool:
    """Whether the message is still to go on, when it may."""
    fault.happen()
    if isinstance(fault, Hold):
        await fault.released()
        return True
    return False


async def _settle(writer: asyncio.StreamWriter, end: Fault | None) -> None:
    """See that what was written is under way before the connection is cut."""
    await writer.drain()
    if end is not None:
        end.happen()
        raise Cut


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
