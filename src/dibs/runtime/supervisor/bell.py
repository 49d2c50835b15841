"""How one who waits for sockets is woken: by a word on a socket of its own."""

from __future__ import annotations

import socket
from contextlib import suppress


class Bell:
    """Rung from any thread and from handlers of signals; also right before somebody waits for it."""

    def __init__(self) -> None:
        self._rope, self._clapper = socket.socketpair()
        self._rope.settimeout(0)
        self._clapper.settimeout(0)

    def fileno(self) -> int:
        """What becomes readable."""
        return self._clapper.fileno()

    def ring(self) -> None:
        """Wake whoever waits."""
        with suppress(OSError):  # it rings already, or nobody waits any more
            self._rope.send(b"!")

    def hush(self) -> None:
        """Take note of it."""
        with suppress(BlockingIOError):
            while self._clapper.recv(4096):
                pass

    def close(self) -> None:
        """Nobody waits any more."""
        self._rope.close()
        self._clapper.close()
