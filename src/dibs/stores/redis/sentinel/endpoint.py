"""A line's way to the master: found before each connection, and left when the master has moved."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from redis.exceptions import RedisError

from dibs.errors import StoreRefused
from dibs.stores.aside import aside
from dibs.stores.redis.endpoint import Endpoint, hang_up

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection as AsyncConnection
    from redis.connection import AbstractConnection as BlockingConnection

    from dibs.stores.redis.sentinel.link import Word
    from dibs.stores.redis.sentinel.watch import Watch

QUICK = 0.25
"""How long after one try to connect the next is made, if nobody says otherwise: the master may have moved meanwhile."""
ONE_TRY = 1.2
"""How long one address is tried: nobody answers at that of a dead master, and there may be a new one."""
DEMOTED = ("READONLY", "MASTERDOWN")
"""What a server says that is no master any more."""
DOUBTFUL = ("NOREPLICAS", "LOADING")
"""What one says that may soon be none."""


class SentinelEndpoint(Endpoint):
    """One line's: all its connections are to the server that is the master by the word of the sentinels."""

    def __init__(self, watch: Watch, retry_interval: float | None = None) -> None:
        service = watch.service
        interval = QUICK if retry_interval is None else retry_interval
        super().__init__(service.options, server=service.shown, tls=service.tls, retry_interval=interval)
        self._watch, self._changing = watch, threading.Lock()
        self._calls: WeakKeyDictionary[BlockingConnection, tuple[str, int]] = WeakKeyDictionary()
        self._streams: list[tuple[asyncio.AbstractEventLoop, asyncio.WriteTransport, tuple[str, int]]] = []
        watch.join(self)

    def connect(self, within: float) -> tuple[BlockingConnection, socket.socket]:
        word = self._watch.master(within / 2)
        at = self._at(word)
        connection, opened = at.connect(min(within / 2, ONE_TRY))
        self.resp = at.resp
        with self._changing:
            self._calls[connection] = word.address
        try:
            talk = cast("Any", connection)
            talk.send_command("ROLE")
            self._is_master(word, talk.read_response(disable_decoding=True))
        except BaseException as error:
            hang_up(connection)
            if isinstance(error, (RedisError, OSError)):
                raise at.refused(error) from error
            raise
        return connection, opened

    async def aconnect(self, within: float) -> AsyncConnection:
        word = await aside(lambda: self._watch.master(within / 2))
        at = self._at(word)
        connection = await at.aconnect(min(within / 2, ONE_TRY))
        self.resp = at.resp
        talk = cast("Any", connection)
        transport = talk._writer.transport  # noqa: SLF001 - as its reader takes it
        self._note(transport, word)
        try:
            await talk.send_command("ROLE")
            self._is_master(word, await talk.read_response(disable_decoding=True))
        except BaseException as error:
            talk._reader = talk._writer = transport.abort()  # noqa: SLF001 - which is nothing
            if isinstance(error, (RedisError, OSError)):
                raise at.refused(error) from error
            raise
        return connection

    def close(self) -> None:
        """The line was hung up: it need not be told any more."""
        self._watch.leave(self)

    def moved(self, word: Word) -> None:
        """The master is elsewhere: what is connected to another server cannot be trusted. Any thread may say so."""
        self._drop(lambda address: address != word.address)

    def doubt(self, refusal: StoreRefused) -> None:
        """A server has said that it did not do what it was asked: it may be no master, or not for long."""
        said = refusal.why.partition(" ")[0]
        if said in DEMOTED:
            self._drop(lambda _: True)
        if said in DEMOTED or said in DOUBTFUL:
            self._watch.look()

    def _at(self, word: Word) -> Endpoint:
        host, port = word.address
        return self._watch.service.at(host, port, server=self.server, resp=self.resp)

    def _is_master(self, word: Word, role: Any) -> None:
        """A server that was the master may not know yet that it is none, nor one that is to be the next that it is."""
        host, port = word.address
        said = role[0].decode()
        if said != "master":
            why = f"{host}:{port} is the master by its sentinels' word, and says itself that it is a {said}"
            raise StoreRefused(self.server, after=0.0, why=why, fix="wait until they agree")
        if not self._watch.says(word.address):
            raise StoreRefused(self.server, after=0.0, why=f"{host}:{port} is the master no more", fix="ask again")

    def _note(self, transport: asyncio.WriteTransport, word: Word) -> None:
        with self._changing:
            self._streams = [each for each in self._streams if not each[1].is_closing()]
            self._streams.append((asyncio.get_running_loop(), transport, word.address))

    def _drop(self, is_doomed: Callable[[tuple[str, int]], bool]) -> None:
        with self._changing:
            calls = [connection for connection, address in self._calls.items() if is_doomed(address)]
            streams = [(loop, transport) for loop, transport, address in self._streams if is_doomed(address)]
        for connection in calls:
            opened = cast("Any", connection)._sock  # noqa: SLF001 - it is talked on by others, who will notice
            if opened is not None:
                with suppress(OSError):  # not TLS's own, which would take its keys from under the reader
                    socket.socket.shutdown(opened, socket.SHUT_RDWR)
        for loop, transport in streams:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(transport.abort)
