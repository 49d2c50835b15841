"""The line of an event loop: one connection that all its tasks share, and one write a turn of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.request import PATIENCE
from dibs.stores.redis.dialogue import DEAD_AFTER, READ_SIZE, Dialogue, Done, Heard
from dibs.stores.redis.pace import Pace

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection

    from dibs.ports.wire import Ear
    from dibs.stores.redis.endpoint import Endpoint


ENOUGH = 8
"""So many asks are worth a write of their own while the server has nothing else to do."""


class RedisLine:
    """One client's line for the running event loop. It is opened at its first use, and again when it breaks."""

    def __init__(self, endpoint: Endpoint, channel: str, ear: Ear, now: Callable[[], float]) -> None:
        self.channel, self.ear, self.now = channel, ear, now
        self._endpoint, self._loop = endpoint, asyncio.get_running_loop()
        self._pace = Pace(endpoint.retry_interval, channel, now)
        self._early: list[tuple[bytes, Heard, float]] = []
        self._talk: _Talk | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_closed = self._was_open = False

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        if (talk := self._talk) is not None:
            talk.say(words[0], heard)
        elif self._is_closed:
            heard(StoreRefused.hung_up(self._endpoint.server))
        else:
            self._early.append((words[0], heard, self.now() + PATIENCE))
            self._open()

    def close(self) -> None:
        self._is_closed = True
        if asyncio._get_running_loop() is self._loop:  # noqa: SLF001 - it is documented, and cheap
            self._hang_up()
        else:
            self._hang_up_from_afar()
        self._endpoint.close()

    def broke(self, talk: _Talk, why: str) -> None:
        """A connection is gone, and with it the one beside it."""
        if self._talk is not None and talk in (self._talk, self._talk.ears):
            ended, self._talk = self._talk, None
            ended.end(why)
            if not self._is_closed:
                self._open()

    def _hang_up(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
        if self._talk is not None:
            self.broke(self._talk, "the line was hung up")
        self._refuse_early(StoreRefused.hung_up(self._endpoint.server))

    def _hang_up_from_afar(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._hang_up)
        except RuntimeError:  # the loop was closed, with the connection open
            if self._talk is not None:
                self._talk.drop()
                self._talk = None

    def _open(self) -> None:
        if self._opening is None:
            self._opening = self._loop.create_task(self._keep_trying(), name="dibs-line")

    async def _keep_trying(self) -> None:
        """Connect; once that has worked others rely on being told, so it is tried again and again."""
        tries = 0
        try:
            while not self._is_closed:
                if pause := self._pace.pause(tries):
                    await asyncio.sleep(pause)
                try:
                    talk = await self._connected()
                except StoreUnreachable as error:
                    self._refuse_early(error)
                    if not self._was_open:
                        return
                    tries += 1
                else:
                    self._begin(talk)
                    return
        finally:
            self._opening = None

    async def _connected(self) -> _Talk:
        self._pace.trying()
        talk = _Talk(self, await self._endpoint.aconnect(PATIENCE), self._endpoint)
        try:
            if self._endpoint.tells_askers:
                await talk.greet(self.channel)
            else:  # a connection that is told things can ask nothing: so there are two
                await talk.greet(None)
                talk.ears = _Talk(self, await self._endpoint.aconnect(PATIENCE), self._endpoint)
                await talk.ears.listen(self.channel)
        except BaseException:
            talk.end("it was not opened")
            raise
        return talk

    def _begin(self, talk: _Talk) -> None:
        if self._is_closed:  # a cancel that comes together with the answer is not heard
            talk.end("the line was hung up")
            return
        self._talk = talk
        early, self._early = self._early, []
        for data, heard, give_up_at in early:
            if self.now() < give_up_at:
                talk.say(data, heard)
            else:
                heard(StoreRefused.unconnected(self._endpoint.server, after=PATIENCE))
        if self._was_open:
            self.ear.ask_again()
        self._was_open = True

    def _refuse_early(self, error: StoreUnreachable) -> None:
        early, self._early = self._early, []
        for _, heard, _ in early:
            heard(error)


class _Talk(asyncio.BufferedProtocol):
    """One open connection, taken over from redis-py."""

    def __init__(self, line: RedisLine, connection: AbstractConnection, endpoint: Endpoint) -> None:
        self._line, self._server = line, endpoint.server
        self._loop = asyncio.get_running_loop()
        self.ears: _Talk | None = None
        self._dialogue = Dialogue(endpoint.server, line.ear, line.now)
        self._buffer = memoryview(bytearray(READ_SIZE))
        self._unsent: list[bytes] = []
        self._is_reading = self._is_awaited = False
        self._watch: asyncio.TimerHandle | None = None
        # redis-py has opened it; from here on it is ours to talk on, and to close.
        self._writer: asyncio.StreamWriter = cast("Any", connection)._writer  # noqa: SLF001
        cast("Any", connection)._reader = cast("Any", connection)._writer = None  # noqa: SLF001
        self._transport = cast("asyncio.Transport", self._writer.transport)
        self._transport.set_protocol(self)

    async def greet(self, channel: str | None) -> None:
        """Say who we are; `StoreUnreachable` if it is not answered."""
        await self._answered(lambda done: self._dialogue.greet(channel, done))

    async def listen(self, channel: str) -> None:
        """Be told things, and nothing else."""
        await self._answered(lambda done: self._dialogue.listen_only(channel, done))

    async def _answered(self, words: Callable[[Done], bytes]) -> None:
        answer: asyncio.Future[StoreUnreachable | None] = self._loop.create_future()

        def done(error: StoreUnreachable | None) -> None:
            if not answer.done():
                answer.set_result(error)

        self._transport.write(words(done))
        try:
            error = await asyncio.wait_for(answer, PATIENCE)
        except TimeoutError:
            error = StoreRefused(self._server, after=PATIENCE, why="no answer")
        if error is not None:
            raise error

    def say(self, data: bytes, heard: Heard) -> None:
        """Send: at once if nothing is under way, else together with all that is said meanwhile.

        Of many who are answered together the first are not kept waiting for the last: the server works for them while
        we go on with the others.
        """
        dialogue, unsent = self._dialogue, self._unsent
        is_idle = not dialogue.pending
        unsent.append(dialogue.ask(data, heard))
        if is_idle:
            self._flush()
        elif not self._is_reading:
            if len(unsent) == 1:
                self._loop.call_soon(self._flush)
        elif not self._is_awaited and len(unsent) >= ENOUGH:
            self._is_awaited = True
            self._flush()

    def end(self, why: str) -> None:
        """Nothing more comes."""
        if self._watch is not None:
            self._watch.cancel()
        self._unsent.clear()
        self._transport.abort()
        self._dialogue.end(why)
        if self.ears is not None:
            self.ears.end(why)

    def drop(self) -> None:
        """Close what a closed loop can close no more; with another kind of loop, the garbage collector must."""
        outer: Any = self._transport
        inner: Any = getattr(getattr(outer, "_ssl_protocol", None), "_transport", outer)
        with suppress(AttributeError):
            opened, inner._sock, inner._closing = inner._sock, None, True  # noqa: SLF001 - there is no other way
            opened.close()
            outer._closed = outer._closing = True  # noqa: SLF001 - so that nobody complains
        if self.ears is not None:
            self.ears.drop()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._is_reading = True
        try:
            answers = self._dialogue.feed(self._buffer, nbytes)
            self._is_awaited = len(answers) < len(self._dialogue.pending)
            self._flush()
            self._dialogue.answer(answers)
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing that comes after it can be read
            self._lost(f"it said what cannot be read: {error!r}")
        except BaseException:  # a task of the user's ends the loop from here, with answers that were not passed on
            self._lost("the program was interrupted")
            raise
        finally:
            self._is_reading = False
            self._flush()

    def eof_received(self) -> None:
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(f"the connection was lost: {exc}" if exc else "the server closed the connection")

    def _lost(self, why: str) -> None:
        self._line.broke(self, why)  # first: whoever hears of it and asks again at once asks on another one
        self._dialogue.end(why)

    def _flush(self) -> None:
        if self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()
            if self._watch is None:
                self._start_watch()

    def _start_watch(self, within: float = DEAD_AFTER) -> None:
        self._watch = self._loop.call_later(within, self._look)

    def _look(self) -> None:
        self._watch = None
        since = self._dialogue.waiting_since
        if since is None:
            return
        silent_for = self._line.now() - since
        if silent_for >= DEAD_AFTER:
            self._lost("it has not answered for too long")
        else:
            self._start_watch(DEAD_AFTER - silent_for)
