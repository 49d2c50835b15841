"""A line's way to the embedded server, which is found or started before each connection."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING
from weakref import finalize

from dibs.errors import ClientClosed, ConfigError, StoreRefused
from dibs.stores.aside import aside
from dibs.stores.embedded.location import Folder
from dibs.stores.embedded.server import ServerLease
from dibs.stores.redis.endpoint import Endpoint

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection as AsyncConnection
    from redis.connection import AbstractConnection as BlockingConnection


class EmbeddedEndpoint(Endpoint):
    """One line's share in the server: it goes when the line is hung up, or with this object."""

    def __init__(self, folder: Folder) -> None:
        super().__init__({"path": ""}, server=folder.url, tls=False)
        self._lease, self._finding = ServerLease(folder), threading.Lock()
        # Not at exit: the kernel does it then, and clients may still say goodbye.
        finalize(self, self._lease.close).atexit = False

    def connect(self, within: float) -> tuple[BlockingConnection, socket.socket]:
        self._find(within)
        return super().connect(within)

    async def aconnect(self, within: float) -> AsyncConnection:
        await aside(lambda: self._find(within))
        return await super().aconnect(within)

    def close(self) -> None:
        """Give the share back: the line needs it no more."""
        self._lease.close()

    def _find(self, within: float) -> None:
        with self._finding:
            try:
                self._lease.revive(within=within)
            except ClientClosed:
                raise StoreRefused.hung_up(self.server) from None
            except ConfigError as error:  # the place was good once, or it would have been refused at first
                raise StoreRefused(self.server, after=0.0, why=str(error), fix="mend that") from error
            self._options["path"] = str(self._lease.socket_path)
