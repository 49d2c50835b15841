"""The embedded Valkey as a store: found or started before each connection, and talked to like any other server."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING
from weakref import finalize

from dibs.errors import ConfigError, StoreRefused
from dibs.model.guarantee import Guarantee
from dibs.stores.embedded.binary import valkey_binary
from dibs.stores.embedded.location import Folder, folder_of
from dibs.stores.embedded.server import ServerLease
from dibs.stores.redis.backend import RedisBackend
from dibs.stores.redis.endpoint import Endpoint

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection as AsyncConnection
    from redis.connection import AbstractConnection as BlockingConnection


class EmbeddedEndpoint(Endpoint):
    """A server that lives as long as somebody has a share in it; ours ends with this object."""

    def __init__(self, folder: Folder) -> None:
        super().__init__({"path": ""}, server=folder.url, tls=False)
        self._lease, self._finding = ServerLease(folder), threading.Lock()
        finalize(
            self, self._lease.close
        ).atexit = False  # at exit the kernel does it, and clients may still say goodbye

    def connect(self, within: float) -> tuple[BlockingConnection, socket.socket]:
        self._find(within)
        return super().connect(within)

    async def aconnect(self, within: float) -> AsyncConnection:
        await asyncio.to_thread(self._find, within)
        return await super().aconnect(within)

    def _find(self, within: float) -> None:
        with self._finding:
            try:
                self._lease.revive(within=within)
            except ConfigError as error:  # the place was good once, or it would have been refused at first
                raise StoreRefused(self.server, after=0.0, why=str(error), fix="mend that") from error
            self._options["path"] = str(self._lease.socket_path)


class EmbeddedBackend(RedisBackend):
    """One folder's server."""

    @property
    def guarantee(self) -> Guarantee:
        """What one server on one machine promises."""
        return Guarantee(
            level="fenced",
            scope=f"among the processes of this user on this machine that use {self.server}",
            clocks="the server's clock for leases and fences, each holder's own for trust",
            durability="what it has answered outlives any process; what the disk had not taken is lost in a power cut",
            across_machines=False,
        )


def open_store(url: str) -> EmbeddedBackend:
    """The server in the folder that a URL names. It is started at the first use."""
    folder = folder_of(url)
    valkey_binary()
    return EmbeddedBackend(EmbeddedEndpoint(folder))
