"""The embedded Valkey as a store: talked to like any other server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dibs.model.guarantee import Guarantee
from dibs.stores.embedded.binary import valkey_binary
from dibs.stores.embedded.endpoint import EmbeddedEndpoint
from dibs.stores.embedded.location import Folder, folder_of, refuse_unfit
from dibs.stores.machine import guarantee
from dibs.stores.redis.backend import new_channel
from dibs.stores.redis.blocking import RedisWire
from dibs.stores.redis.dialect import RedisLocks
from dibs.stores.redis.keys import Keys

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.redis.aio import RedisLine


class EmbeddedBackend:
    """One folder's server. Each line has a share in it, so it ends when the last one is hung up."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self.server = folder, folder.url

    @property
    def guarantee(self) -> Guarantee:
        """What one server on one machine promises."""
        return guarantee(
            self.server,
            clocks="the server's clock for leases and fences, each holder's own for trust",
            durability="what it has answered outlives any process; what the disk had not taken is lost in a power cut",
        )

    def locks(self, namespace: str) -> RedisLocks:
        return RedisLocks(Keys(namespace))

    def blocking(self, ear: Ear, now: Callable[[], float]) -> RedisWire:
        return RedisWire(EmbeddedEndpoint(self._folder), new_channel(), ear, now)

    def aio(self, ear: Ear, now: Callable[[], float]) -> RedisLine:
        from dibs.stores.redis.aio import RedisLine  # noqa: PLC0415 - one colour is enough for most

        return RedisLine(EmbeddedEndpoint(self._folder), new_channel(), ear, now)


def open_store(url: str) -> EmbeddedBackend:
    """The server in the folder that a URL names. It is started at the first use."""
    folder = folder_of(url)
    refuse_unfit(folder)
    valkey_binary()
    return EmbeddedBackend(folder)
