"""uvicorn on a loop that is not its own: it heeds no signals, and tells when it listens."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from dibs.errors import ConfigError, DibsError

if TYPE_CHECKING:
    from collections.abc import Generator

BACKLOG = 2048
AT_LEAST = 1.0
"""What requests have to end, however little of the grace is left."""


class PortTaken(DibsError):
    """Somebody else listens where we are to."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"port {port} on {host} is taken: another program listens there. End it, or choose another with --port"
        )


class StartFailed(DibsError):
    """The application has refused to start."""

    def __init__(self) -> None:
        super().__init__("the application did not start: its lifespan failed, and has told why above")


class HttpServer(uvicorn.Server):
    """One application, from when it listens until it is asked to leave."""

    def __init__(self, app: Any, host: str, port: int) -> None:
        self._socket = bound(host, port)
        super().__init__(  # who asks is who connects: what a header says of that, anybody can
            uvicorn.Config(
                app, host=host, port=port, log_config=None, access_log=False, backlog=BACKLOG, proxy_headers=False
            )
        )
        self.is_up = asyncio.Event()

    async def run_here(self) -> None:
        """Serve on the running loop."""
        await self.serve(sockets=[self._socket])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            self._socket.close()
            raise StartFailed from None
        self.is_up.set()

    def leave(self, grace: float) -> None:
        """Take no more connections, and let requests end within the grace: an open stream has no end of its own."""
        left: Any = max(grace, AT_LEAST)
        self.config.timeout_graceful_shutdown = left
        self.should_exit = True

    def hurry(self) -> None:
        """Let nothing end any more."""
        self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at that address. A port that was used just now may be used again."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as fault:
        raise ConfigError(f"host={host!r}: {fault}; name an address of this machine, as in '127.0.0.1'") from None
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)  # or another who binds it as well would only learn of us when it listens
    except OSError as fault:
        found.close()
        if fault.errno == errno.EADDRINUSE:
            raise PortTaken(host, port) from None
        raise ConfigError(f"cannot listen on port {port} of {host}: {fault.strerror}; choose another") from None
    return found
