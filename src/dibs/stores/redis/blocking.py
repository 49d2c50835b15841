"""The line for threads: a connection for each that is inside a call, and one that is always there, to be told things.

The latter, the trunk, carries what is posted as well; a thread of its own reads it.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from ssl import SSLSocket
from typing import TYPE_CHECKING, Any, cast
from weakref import ReferenceType, finalize, ref

from hiredis import HiredisError, Reader

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.backoff import backoff
from dibs.model.request import A_MOMENT, PATIENCE
from dibs.ports.store import Reply
from dibs.stores.redis.dialogue import LOAD_ALL, NOTHING, Dialogue, Done, Heard, is_unknown_script, outcome
from dibs.stores.redis.resp import encode
from dibs.stores.redis.scripts import ALL

if TYPE_CHECKING:
    from redis.connection import AbstractConnection

    from dibs.ports.wire import Ear
    from dibs.stores.redis.endpoint import Endpoint

READ_SIZE = 65_536
RESP2 = 2
DEAD_AFTER = 2 * PATIENCE
"""A connection on which an ask has had no answer for so long is given up: nobody is at the other end."""
PING = encode("PING")
QUEUED = 2
SHORTEST = 0.001
SURELY_FIT = 0.25
"""A connection that was used so short a time ago is not looked at before it is used again."""
MOST_IDLE = 16
"""How many connections are kept open that no thread uses just now."""


class RedisWire:
    """One client's line for its threads."""

    def __init__(self, endpoint: Endpoint, channel: str, ear: Ear, now: Callable[[], float]) -> None:
        self.channel, self._endpoint, self._now = channel, endpoint, now
        self._trunk = Trunk(endpoint, channel, ear, now, lost=ref(self))
        self._idle: list[Call] = []
        self._is_closed = False

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        give_up_at = self._now() + within
        if self._is_closed:
            raise hung_up(self._endpoint)
        if not self._trunk.is_up:
            self._trunk.wait_until_up(within)
        call = self._take(give_up_at)
        try:
            reply = call.ask(words[0], give_up_at - self._now())
        except BaseException:
            call.close()  # an answer that comes too late must not be taken for the next one's
            raise
        self._give_back(call)
        if isinstance(reply, StoreUnreachable):
            raise reply
        if reply.at is not None and reply.value[1:2] == [QUEUED]:
            # What it is told from now on was done after this: so the trunk has just asked something, too.
            self._trunk.post(PING, _ignored)
        return reply

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        if self._is_closed:
            heard(hung_up(self._endpoint))
        else:
            self._trunk.post(words[0], heard)

    def sleeper(self) -> None:
        return None

    def close(self) -> None:
        self._is_closed = True
        self._trunk.close()
        self.drop_idle()

    def drop_idle(self) -> None:
        """The server has gone, or we have."""
        while (call := self._idle_one()) is not None:
            call.close()

    def _take(self, give_up_at: float) -> Call:
        while (call := self._idle_one()) is not None:
            if call.is_fit():
                return call
            call.close()
        return Call(self._endpoint, self._now, max(give_up_at - self._now(), 0.001))

    def _idle_one(self) -> Call | None:
        try:
            return self._idle.pop()
        except IndexError:  # none, or another thread was quicker
            return None

    def _give_back(self, call: Call) -> None:
        if self._is_closed or len(self._idle) >= MOST_IDLE:
            call.close()
        else:
            self._idle.append(call)


class Call:
    """A connection on which one thread at a time asks, and waits for the answer."""

    def __init__(self, endpoint: Endpoint, now: Callable[[], float], within: float) -> None:
        self._connection, self._socket = endpoint.connect(within)
        self._reader: Any = Reader(notEnoughData=NOTHING)
        self._server, self._now = endpoint.server, now
        self._used_at, self._limit = now(), 0.0
        if not isinstance(self._socket, SSLSocket):
            self._socket.settimeout(None)  # the system keeps the time: Python would look first what has come, each time

    def is_fit(self) -> bool:
        """Whether nothing has come on it that nobody asked for, its end included; if it was idle for long enough."""
        return self._now() - self._used_at < SURELY_FIT or not _has_come(self._socket)

    def ask(self, data: bytes, within: float) -> Reply | StoreUnreachable:
        """Send, and wait for what comes back."""
        asked_at = self._now()
        try:
            self._limit_to(within)
            self._socket.sendall(data)
            answer = outcome(self._server, self._said(asked_at + within))
            if isinstance(answer, StoreRefused) and is_unknown_script(answer):
                self._socket.sendall(LOAD_ALL)
                for _ in ALL:
                    self._said(asked_at + within)
        except (TimeoutError, BlockingIOError):
            raise StoreUnreachable(self._server, after=self._now() - asked_at) from None
        except (OSError, HiredisError) as error:
            raise StoreUnreachable(self._server, after=self._now() - asked_at, why=str(error)) from error
        self._used_at = asked_at
        return answer

    def close(self) -> None:
        _hang_up(self._connection)

    def _said(self, give_up_at: float) -> Any:
        reader = self._reader
        while (said := reader.gets()) is NOTHING:
            came = self._socket.recv(READ_SIZE)
            if not came:
                raise ConnectionResetError("the server closed the connection")
            reader.feed(came)
            if self._now() >= give_up_at:  # each piece in time, but not the whole
                raise TimeoutError
        return said

    def _limit_to(self, within: float) -> None:
        """How long each call may take; nearly always as long as the last one."""
        within = max(within, SHORTEST)
        if within * 0.98 <= self._limit <= within:
            return
        self._limit = within
        if isinstance(self._socket, SSLSocket):
            self._socket.settimeout(within)
            return
        limit = struct.pack("@ll", int(within), int(within % 1 * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


class Trunk:
    """The connection that is always there. It is opened at its first use, and again when it breaks."""

    def __init__(
        self,
        endpoint: Endpoint,
        channel: str,
        ear: Ear,
        now: Callable[[], float],
        *,
        lost: ReferenceType[RedisWire],
    ) -> None:
        self._endpoint, self._channel, self.ear, self.now, self._line = endpoint, channel, ear, now, lost
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
            raise trouble or StoreRefused(self._endpoint.server, after=within, why="no connection was had in time")

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
            except RuntimeError as error:  # no more threads; later there may be
                fix = "let this program have more threads"
                self._failed(StoreRefused(self._endpoint.server, after=0.0, why=str(error), fix=fix))
            else:
                self._thread = thread

    def connect(self) -> _Talk | None:
        """Open it; `None` if that failed, and everybody who waits was told."""
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
            heard(StoreRefused(self._endpoint.server, after=PATIENCE, why="no connection was had in time"))
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
        line = self._line()
        if line is not None:
            line.drop_idle()

    def is_wanted(self, tries: int) -> bool:
        """Whether to try again, after a pause. Once it was open others rely on being told."""
        with self._changed:
            is_wanted = not tries or self.was_open or bool(self._early)
            if is_wanted and self._pause(tries):
                return True
            self._thread = None
        return False

    def _pause(self, tries: int) -> bool:
        if tries:
            self._changed.wait_for(self._closing.is_set, backoff(tries - 1, self._channel))
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
            if endpoint.resp > RESP2:
                self._greet(self._asks, partial(self._dialogue.greet, channel))
            else:  # a connection that is told things can ask nothing: so there are two
                self._greet(self._asks, partial(self._dialogue.greet, None))
                told, dialogue = self._open(endpoint, ear)
                self._greet(told, partial(dialogue.listen_only, channel))
            self._asks.settimeout(
                A_MOMENT
            )  # whoever posts something does not wait: a server that takes nothing is lost
        except BaseException:
            self._let_go()
            raise

    def say(self, data: bytes, heard: Heard) -> None:
        """Send. If that fails the connection is over, and its reader will tell."""
        with self._talking:
            if not self._is_over:
                if self._dialogue.needs_scripts:
                    self._dialogue.needs_scripts = False
                    data = self._dialogue.load_scripts() + data
                self._dialogue.ask(heard)
                try:
                    self._asks.sendall(data)
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
            with suppress(OSError):
                socket.socket.shutdown(
                    opened, socket.SHUT_RDWR
                )  # that of TLS would take its keys from under the reader

    def _let_go(self) -> None:
        for connection in self._connections:
            _hang_up(connection)

    def _open(self, endpoint: Endpoint, ear: Ear) -> tuple[socket.socket, Dialogue]:
        connection, opened = endpoint.connect(PATIENCE)
        self._connections.append(connection)
        opened.settimeout(PATIENCE)
        dialogue = Dialogue(endpoint.server, ear, self._now, resp=endpoint.resp)
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
            raise StoreUnreachable(self._server, after=PATIENCE, why=str(error) or "no answer") from error
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
            dialogue.feed(came, len(came))
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


def _has_come(opened: socket.socket) -> bool:
    ready = select.poll()
    ready.register(opened, select.POLLIN)
    return bool(ready.poll(0))


def _hang_up(connection: AbstractConnection) -> None:
    cast("Any", connection).disconnect()


def _ignored(outcome: Reply | StoreUnreachable) -> None:
    """Nobody waits for this answer."""


def hung_up(endpoint: Endpoint) -> StoreRefused:
    """What is told to one who still wants to talk."""
    return StoreRefused(endpoint.server, after=0.0, why="the line was hung up")
