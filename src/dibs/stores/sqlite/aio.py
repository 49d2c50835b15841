"""The line of an event loop to an embedded store: what takes but a moment is done on the loop itself.

A turn is a few reads and writes of cached pages, with no wait for a disk: to wake a thread for it takes longer than
to do it. Whatever may take longer is left to the line's own threads: a file in use, to be opened or tidied up, and
what is to be on the disk before it is told.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import EAGAIN
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable
from dibs.stores.sqlite.hints import LARGEST, Mailbox
from dibs.stores.sqlite.wire import Heard, Post, SqliteLine

if TYPE_CHECKING:
    from dibs.ports.store import Reply
    from dibs.ports.wire import Ear
    from dibs.stores.sqlite.backend import SqliteBackend
    from dibs.stores.sqlite.poster import Poster


class SqliteLoopLine(SqliteLine):
    """One client's line for the running event loop."""

    def __init__(self, backend: SqliteBackend, ear: Ear, now: Callable[[], float]) -> None:
        super().__init__(backend, ear, now)
        self._loop, self._under_way = asyncio.get_running_loop(), Counter[object]()

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        poster = self._poster_of(words)
        if not self._under_way[poster] and (outcome := self._at_once(words)) is not None:
            heard(outcome)
            return
        self._under_way[poster] += 1
        super().post(words, node, partial(self._pass_on, poster, heard))

    def _at_once(self, words: Sequence[Any]) -> Reply | StoreUnreachable | None:
        if self.is_closed:
            return None
        try:
            return self._backend.execute_at_once(words, self)
        except StoreUnreachable as error:
            return error
        finally:
            self._hang_up_if_closed()

    def _pass_on(self, poster: Poster[Post], heard: Heard, outcome: Reply | StoreUnreachable) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._heard, poster, heard, outcome)

    def _heard(self, poster: Poster[Post], heard: Heard, outcome: Reply | StoreUnreachable) -> None:
        self._under_way[poster] -= 1
        heard(outcome)

    def _made_mailbox(self, path: str, heard: Callable[[bytes], bool]) -> Mailbox:
        return LoopMailbox(path, heard, self._loop)


class LoopMailbox(Mailbox):
    """A mailbox that an event loop reads."""

    def __init__(self, path: str, heard: Callable[[bytes], bool], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(path)
        self._heard, self._loop = heard, loop
        self._socket.setblocking(False)  # noqa: FBT003 - it takes no other
        try:
            loop.call_soon_threadsafe(self._listen)
        except RuntimeError as error:  # the loop was closed
            self.close()
            raise OSError(EAGAIN, str(error)) from error

    def hang_up(self) -> None:
        """Let go of the socket: on the loop, which must not be left with one that is closed."""
        if asyncio._get_running_loop() is self._loop:  # noqa: SLF001 - it is documented, and cheap
            self._stop_listening()
            return
        try:
            self._loop.call_soon_threadsafe(self._stop_listening)
        except RuntimeError:  # the loop was closed
            super().hang_up()

    def _listen(self) -> None:
        if not self.is_closed:
            self._loop.add_reader(self._socket, self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if data and not self._heard(data):
            self.close()

    def _stop_listening(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
        super().hang_up()
