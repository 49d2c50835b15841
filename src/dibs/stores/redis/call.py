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
from dibs.stores.redis.dialogue import LOAD_ALL, NOTHING, READ_SIZE, is_unknown_script, outcome
from dibs.stores.redis.endpoint import hang_up
from dibs.stores.redis.scripts import ALL

if TYPE_CHECKING:
    from dibs.ports.store import Reply
    from dibs.stores.redis.endpoint import Endpoint

SHORTEST = 0.001
SURELY_FIT = 0.25
"""A connection that was used so short a time ago is not looked at before it is used again."""


class Call:
    """One such connection. It is open from the start."""

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
        hang_up(self._connection)

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


def _has_come(opened: socket.socket) -> bool:
    ready = select.poll()
    ready.register(opened, select.POLLIN)
    return bool(ready.poll(0))
