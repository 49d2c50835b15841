"""The connection of a client's threads that is always there: for what is posted, and for what they are told.

A thread of its own reads it.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ssl import SSLSocket
from typing import TYPE_CHECKING, cast
from weakref import ReferenceType, WeakMethod, finalize, ref

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.request import A_MOMENT, PATIENCE
from dibs.stores.redis.dialogue import DEAD_AFTER, READ_SIZE, Dialogue, Done, Heard
from dibs.stores.redis.endpoint import hang_up
from dibs.stores.redis.pace import Pace

if TYPE_CHECKING:
    from redis.connection import AbstractConnection

    from dibs.ports.wire import Ear
    from dibs.stores.redis.endpoint import Endpoint


class Trunk:
    """The connection that is always there. It is opened at its first use, and again when it breaks."""

    def __init__(
        self,
        endpoint: Endpoint,
        channel: str,
        ear: Ear,
        now: Callable[[], float],
        *,
        lost: WeakMethod[Callable[[], None]],
    ) -> None:
        self._endpoint, self._channel, self.ear, self.now, self._lost = endpoint, channel, ear, now, lost
        self._pace = Pace(endpoint.retry_interval, channel, now)
        self._changed = threading.Condition()
        self._early: list[tuple[bytes, Heard, float]] = []
        self._thread: threading.Thread | None = None
        self._trouble: StoreUnreachable | None = None
        self._talk: _Talk | None = None
        self._closing = threading.Event()
        self._finalizer: finalize[[], Trunk] | None = None
        self.was_open = False

    @property
    def is_up(self) -> bool:
        """Whether we are told things now."""
        return self._talk is not None

    def wait_until_up(self, within: float) -> None:
        """See to it that we are told things; `StoreUnreachable` if that cannot be had in time."""
        with self._changed:
            self._trouble = None
            self._start()
            self._changed.wait_for(lambda: self.is_up or self._trouble or self._closing.is_set(), within)
            if self.is_up:
                return
            trouble = cast("StoreUnreachable | None", self._trouble)
            raise trouble or StoreRefused.unconnected(self._endpoint.server, after=within)

    def post(self, data: bytes, heard: Heard) -> None:
        """Send behind all that was sent before."""
        talk = self._talk
        if talk is not None:
            talk.say(data, heard)
            return
        with self._changed:
            if self._talk is None:
                self._early.append((data, heard, self.now() + PATIENCE))
                self._start()
                return
        self.post(data, heard)

    def close(self) -> None:
        """Hang up."""
        self._closing.set()
        talk = self._talk
        if talk is not None:
            talk.close()
        with self._changed:
            self._changed.notify_all()

    def _start(self) -> None:
        if self._thread is None and not self._closing.is_set():
            thread = threading.Thread(target=_live, args=(ref(self),), name="dibs-trunk", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                self._failed(StoreRefused.without_threads(self._endpoint.server, error))
            else:
                self._thread = thread

    def connect(self) -> _Talk | None:
        """Open it; `None` if that failed, and everybody who waits was told."""
        self._pace.trying()
        try:
            talk = _Talk(self._endpoint, self._channel, self.ear, self.now)
        except StoreUnreachable as error:
            self._failed(error)
            return None
        self._finalizer = finalize(self, talk.close)
        self._finalizer.atexit = False
        return talk

    def begin(self, talk: _Talk) -> None:
        """It is open."""
        with self._changed:
            early, self._early = self._early, []
            in_time = [post for post in early if self.now() < post[2]]
            for data, heard, _ in in_time:
                talk.say(data, heard)
            self._talk = talk
            self._changed.notify_all()
        for _, heard, _ in early[: len(early) - len(in_time)]:  # the oldest are the first
            heard(StoreRefused.unconnected(self._endpoint.server, after=PATIENCE))
        if self._closing.is_set():
            talk.close()
        elif self.was_open:
            self.ear.ask_again()
        self.was_open = True

    def broke(self, talk: _Talk, why: str) -> None:
        """It is gone."""
        self._talk = None
        if self._finalizer is not None:
            self._finalizer.detach()
        talk.end(why)
        if (tell := self._lost()) is not None:
            tell()

    def is_wanted(self, tries: int) -> bool:
        """Whether to try again, after a pause. Once it was open others rely on being told."""
        with self._changed:
            is_wanted = not tries or self.was_open or bool(self._early)
            if is_wanted and self._pause(tries):
                return True
            self._thread = None
        return False

    def _pause(self, tries: int) -> bool:
        if pause := self._pace.pause(tries):
            self._changed.wait_for(self._closing.is_set, pause)
        return not self._closing.is_set()

    def _failed(self, error: StoreUnreachable) -> None:
        with self._changed:
            self._trouble, early, self._early = error, self._early, []
            self._changed.notify_all()
        for _, heard, _ in early:
            heard(error)


class _Talk:
    """The trunk while it is open: one connection or, with RESP2, another one beside it for what we are told."""

    def __init__(self, endpoint: Endpoint, channel: str, ear: Ear, now: Callable[[], float]) -> None:
        self._server, self._now, self._pid = endpoint.server, now, os.getpid()
        self._talking, self._is_over = threading.RLock(), False  # TLS cannot be read and written at once
        self._connections: list[AbstractConnection] = []
        self._dialogues: dict[int, tuple[socket.socket, Dialogue]] = {}
        self._ready = select.poll()
        try:
            self._asks, self._dialogue = self._open(endpoint, ear)
            if endpoint.tells_askers:
                self._greet(self._asks, partial(self._dialogue.greet, channel))
            else:  # a connection that is told things can ask nothing: so there are two
                self._greet(self._asks, partial(self._dialogue.greet, None))
                told, dialogue = self._open(endpoint, ear)
                self._greet(told, partial(dialogue.listen_only, channel))
            # Whoever posts something does not wait: a server that takes nothing is lost.
            self._asks.settimeout(A_MOMENT)
        except BaseException:
            self._let_go()
            raise

    def say(self, data: bytes, heard: Heard) -> None:
        """Send. If that fails the connection is over, and its reader will tell."""
        with self._talking:
            if not self._is_over:
                try:
                    self._asks.sendall(self._dialogue.ask(data, heard))
                except OSError:
                    self.close()
                return
        heard(StoreRefused(self._server, after=0.0, why="the connection was lost"))

    def read(self, within: float) -> None:
        """Take what comes; `OSError` when it is over."""
        for number, _ in self._ready.poll(within * 1000):
            self._take(number)
        since = self._dialogue.waiting_since
        if since is not None and self._now() - since >= DEAD_AFTER:
            raise TimeoutError("it has not answered for too long")

    def end(self, why: str) -> None:
        """Tell all who wait for an answer that there will be none."""
        with self._talking:
            self._is_over = True
        self._let_go()
        for _, dialogue in self._dialogues.values():
            dialogue.end(why)

    def close(self) -> None:
        """Have the reader wake up, and hang up; in a forked child, to which the connection does not belong, let go."""
        if self._pid != os.getpid():
            self._let_go()
            return
        for opened, _ in list(self._dialogues.values()):
            with suppress(OSError):  # not TLS's own, which would take its keys from under the reader
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def _let_go(self) -> None:
        for connection in self._connections:
            hang_up(connection)

    def _open(self, endpoint: Endpoint, ear: Ear) -> tuple[socket.socket, Dialogue]:
        connection, opened = endpoint.connect(PATIENCE)
        self._connections.append(connection)
        opened.settimeout(PATIENCE)
        dialogue = Dialogue(endpoint.server, ear, self._now)
        self._dialogues[opened.fileno()] = opened, dialogue
        self._ready.register(opened, select.POLLIN)
        return opened, dialogue

    def _greet(self, opened: socket.socket, words: Callable[[Done], bytes]) -> None:
        answers: list[StoreUnreachable | None] = []
        try:
            opened.sendall(words(answers.append))
            while not answers:
                if not self._ready.poll(PATIENCE * 1000):
                    raise TimeoutError
                self._take(opened.fileno())
        except OSError as error:
            raise StoreRefused(self._server, after=PATIENCE, why=str(error) or "no answer") from error
        if answers[0] is not None:
            raise answers[0]

    def _take(self, number: int) -> None:
        opened, dialogue = self._dialogues[number]
        while True:
            with self._talking:
                try:
                    came = opened.recv(READ_SIZE)
                except TimeoutError:  # what has come is no whole record of TLS yet
                    return
                has_more = isinstance(opened, SSLSocket) and opened.pending() > 0
            if not came:
                raise ConnectionResetError("the server closed the connection")
            dialogue.answer(dialogue.feed(came, len(came)))
            if not has_more:
                return


def _live(known: ReferenceType[Trunk]) -> None:
    """The trunk's thread. It knows the trunk only weakly: a client that nobody uses any more can be collected."""
    tries = 0
    while (trunk := known()) is not None and trunk.is_wanted(tries):
        talk = trunk.connect()
        if talk is None:
            tries += 1
            continue
        tries = 1
        trunk.begin(talk)
        del trunk
        try:
            while known() is not None:
                talk.read(1.0)
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing that comes after it can be read
            why = str(error) or type(error).__name__
        else:
            why = "the line was hung up"
        if (trunk := known()) is None:
            talk.end(why)
            return
        trunk.broke(talk, why)
        del trunk
