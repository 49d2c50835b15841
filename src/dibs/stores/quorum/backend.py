"""Several servers that know nothing of each other, as one store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dibs.model.guarantee import Guarantee
from dibs.model.quorum import majority
from dibs.stores.quorum.council import Council, Node, NodeEar
from dibs.stores.quorum.dialect import QuorumLocks
from dibs.stores.quorum.line import QuorumLine, QuorumWire
from dibs.stores.quorum.node import RedisNode
from dibs.stores.redis.backend import new_channel

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.redis.endpoint import Endpoint


class QuorumBackend:
    """The servers, and the lines to them."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = endpoints
        places = ",".join(endpoint.server.partition("://")[2] for endpoint in endpoints)
        self.server = f"redlock://{places}"

    @property
    def guarantee(self) -> Guarantee:
        """What a majority promises."""
        size = len(self._endpoints)
        return Guarantee(
            level="fenced",
            scope=f"among all who use {self.server}, while {majority(size)} of the {size} can be reached",
            clocks=f"the clocks of any {majority(size)} servers for leases, each holder's own for trust; fences rise "
            "whatever the clocks say, as they are counted by a majority",
            durability="each server must keep what it has answered (appendfsync always); one that forgot all is not "
            "counted for the longest TTL, and learns the newest fence before it is",
        )

    def locks(self, namespace: str) -> QuorumLocks:
        return QuorumLocks(RedisNode(namespace))

    def blocking(self, ear: Ear, now: Callable[[], float]) -> QuorumWire:
        from dibs.stores.redis.blocking import RedisWire  # noqa: PLC0415 - one colour is enough for most

        channel = new_channel()
        council = Council(self.server, ear, now, RedisNode(""))
        council.nodes = [
            Node(number, RedisWire(endpoint, channel, NodeEar(council, number), now))
            for number, endpoint in enumerate(self._endpoints)
        ]
        return QuorumWire(council, channel)

    def aio(self, ear: Ear, now: Callable[[], float]) -> QuorumLine:
        from asyncio import get_running_loop  # noqa: PLC0415 - one colour is enough for most

        from dibs.stores.redis.aio import RedisLine  # noqa: PLC0415 - as above

        channel = new_channel()
        council = Council(self.server, ear, now, RedisNode(""))
        council.nodes = [
            Node(number, RedisLine(endpoint, channel, NodeEar(council, number), now))
            for number, endpoint in enumerate(self._endpoints)
        ]
        return QuorumLine(council, channel, get_running_loop())
