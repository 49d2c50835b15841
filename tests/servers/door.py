"""Where a server should be and is not: whoever comes is noted, and turned away."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

from dibs.runtime.clock import boottime
from tests.chaos.stage import LONG
from tests.servers.ports import HOST


class Door:
    """Listens on a port, one that nobody else has if none is named, and hangs up on everybody."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server((HOST, port))
        self.port: int = self._listener.getsockname()[1]
        self.knocks: list[float] = []
        """When somebody came."""
        self._knocked = threading.Condition()
        self._porter = threading.Thread(target=self._turn_away, name="door", daemon=True)
        self._porter.start()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def wait_for(self, knocks: int) -> list[float]:
        """Wait until so many have come: when they did."""
        with self._knocked:
            assert self._knocked.wait_for(lambda: len(self.knocks) >= knocks, LONG), f"{len(self.knocks)} have come"
            return self.knocks[:knocks]

    def close(self) -> None:
        """Be gone: the port is free for a server."""
        with suppress(OSError):  # some systems have none to shut down
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._porter.join(LONG)
        assert not self._porter.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _turn_away(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                visitor, _ = self._listener.accept()
                visitor.close()
                with self._knocked:
                    self.knocks.append(boottime())
                    self._knocked.notify_all()
