"""How a thread is called that waits for a socket."""

from __future__ import annotations

import os
import select
import socket
from contextlib import suppress
from weakref import finalize


class Bell:
    """One for each such thread."""

    def __init__(self) -> None:
        self._hears, self._rings = os.pipe()
        for end in (self._hears, self._rings):
            os.set_blocking(end, False)
        finalize(self, _close, self._hears, self._rings).atexit = False

    def ring(self) -> None:
        """Call it. Whoever was called often and has not come yet need not be called again."""
        with suppress(BlockingIOError):
            os.write(self._rings, b"!")

    def wait(self, within: float, beside: socket.socket | None = None) -> None:
        """Until it rings, or something comes on that socket, or time is up."""
        ready = select.poll()
        ready.register(self._hears, select.POLLIN)
        if beside is not None:
            ready.register(beside, select.POLLIN)
        ready.poll(within * 1000)
        with suppress(BlockingIOError):
            os.read(self._hears, 65_536)


def _close(*ends: int) -> None:
    for end in ends:
        os.close(end)
