"""A connection on which one thread at a time asks, and waits for the answer."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable
from ssl import SSLSocket
from typing import TYPE_CHECKING, Any

from hiredis import HiredisError, Reader

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.stores.redis.dialogue import LOAD_ALL, NOTHING, is_unknown_script, outcome
from dibs.stores.redis.endpoint import hang_up
from dibs.stores.redis.scripts import ALL

if TYPE_CHECKING:
    from dibs.ports.store import Reply
    from dibs.stores.redis.endpoint import Endpoint

SHORTEST = 0.001
ROOM = 4_096
"""How many bytes are read at a time: nearly all answers have less than a hundred."""
SURELY_FIT = 0.25
"""A connection that was used so short a time ago is not looked at before it is used again."""


class Call:
    """One such connection. It is open from the start."""

    def __init__(self, endpoint: Endpoint, now: Callable[[], float], within: float) -> None:
        self._connection, self._socket = endpoint.connect(within)
        self._reader: Any = Reader(notEnoughData=NOTHING)
        self.server, self._now = endpoint.server, now
        self._used_at, self._limit = now(), 0.0
        self._room = bytearray(ROOM)
        if not isinstance(self._socket, SSLSocket):
            self._socket.settimeout(None)  # the system keeps the time: Python would look first what has come, each time

    def is_fit(self) -> bool:
        """Whether nothing has come on it that nobody asked for, its end included; if it was idle for long enough."""
        return self._now() - self._used_at < SURELY_FIT or not _has_come(self._socket)

    def ask(self, data: bytes, give_up_at: float) -> Reply | StoreUnreachable:
        """Send, and wait for what comes back."""
        asked_at = self._now()
        try:
            self._limit_to(give_up_at - asked_at)
            self._socket.sendall(data)
            answer = outcome(self.server, self._said(give_up_at))
            if isinstance(answer, StoreRefused) and is_unknown_script(answer):
                self._socket.sendall(LOAD_ALL)
                for _ in ALL:
                    self._said(give_up_at)
        except (TimeoutError, BlockingIOError):
            raise StoreUnreachable(self.server, after=self._now() - asked_at) from None
        except (OSError, HiredisError) as error:
            raise StoreUnreachable(self.server, after=self._now() - asked_at, why=str(error)) from error
        self._used_at = asked_at
        return answer

    def ask_within(self, data: bytes, within: float) -> Reply | StoreUnreachable:
        """The same, for whoever counts from now."""
        return self.ask(data, self._now() + within)

    def close(self) -> None:
        hang_up(self._connection)

    def _said(self, give_up_at: float) -> Any:
        reader, room = self._reader, self._room
        while (said := reader.gets()) is NOTHING:
            size = self._socket.recv_into(room)
            if not size:
                raise ConnectionResetError("the server closed the connection")
            reader.feed(room, 0, size)
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


def _has_come(opened: socket.socket) -> bool:
    ready = select.poll()
    ready.register(opened, select.POLLIN)
    return bool(ready.poll(0))
