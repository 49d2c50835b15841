"""The line of an event loop to the embedded server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dibs.stores.embedded.endpoint import EmbeddedEndpoint
from dibs.stores.embedded.location import Folder
from dibs.stores.redis.aio import RedisLine
from dibs.stores.redis.backend import new_channel

if TYPE_CHECKING:
    from dibs.ports.wire import Ear


class EmbeddedLine(RedisLine):
    """One client's line for the running event loop, with a share in the server of its own."""

    def __init__(self, folder: Folder, ear: Ear, now: Callable[[], float]) -> None:
        self._share = EmbeddedEndpoint(folder)
        super().__init__(self._share, new_channel(), ear, now)

    def close(self) -> None:
        super().close()
        self._share.close()
