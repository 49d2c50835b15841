"""Lines that notice when the server they talk to is no master any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.stores.redis.aio import RedisLine
from dibs.stores.redis.blocking import RedisWire
from dibs.stores.redis.dialogue import Heard

if TYPE_CHECKING:
    from dibs.ports.store import Reply
    from dibs.ports.wire import Ear
    from dibs.stores.redis.sentinel.endpoint import SentinelEndpoint


class SentinelWire(RedisWire):
    """The line for threads."""

    def __init__(self, endpoint: SentinelEndpoint, channel: str, ear: Ear, now: Callable[[], float]) -> None:
        super().__init__(endpoint, channel, ear, now)
        self._doubt = endpoint.doubt

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        try:
            return super().send(words, node, within)
        except StoreRefused as refusal:
            self._doubt(refusal)
            raise

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        super().post(words, node, partial(_heard, heard, self._doubt))


class SentinelLine(RedisLine):
    """The line of an event loop."""

    def __init__(self, endpoint: SentinelEndpoint, channel: str, ear: Ear, now: Callable[[], float]) -> None:
        super().__init__(endpoint, channel, ear, now)
        self._doubt = endpoint.doubt

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        super().post(words, node, partial(_heard, heard, self._doubt))


def _heard(heard: Heard, doubt: Callable[[StoreRefused], None], outcome: Reply | StoreUnreachable) -> None:
    if isinstance(outcome, StoreRefused):
        doubt(outcome)
    heard(outcome)
