"""The lines to a cluster: one to each master that is asked something, as to a server of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.request import PATIENCE
from dibs.ports.store import Reply
from dibs.stores.aside import aside
from dibs.stores.redis.aio import RedisLine
from dibs.stores.redis.blocking import RedisWire
from dibs.stores.redis.cluster.dialect import EVERY_ONE
from dibs.stores.redis.cluster.routes import Routes, list_all
from dibs.stores.redis.dialogue import Heard

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.redis.cluster.place import Address
    from dibs.stores.redis.cluster.shards import Shards
    from dibs.stores.redis.endpoint import Endpoint

    LineT = TypeVar("LineT", RedisWire, RedisLine)
    To = Callable[[Endpoint, str, Ear, Callable[[], float]], LineT]


class ClusterWire:
    """The line for threads."""

    def __init__(
        self, shards: Shards, channel: str, ear: Ear, now: Callable[[], float], *, to: To[RedisWire] = RedisWire
    ) -> None:
        self.channel, self._ear, self._now, self._to = channel, ear, now, to
        self._shards, self._routes = shards, Routes(shards, channel)
        self._any, self._wires = channel.encode(), dict["Address", tuple[RedisWire, bytes]]()
        self._changing = threading.Lock()
        self._is_closed = False
        shards.join(self)

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        if node == EVERY_ONE:
            return self._listed(words, within)
        data, noting, *more = words
        give_up_at = self._now() + within
        address = self._shards.found(node, within)
        try:
            wire, channel = self._wire(address)
            reply = wire.send((data.replace(self._any, channel), *more), node, give_up_at - self._now())
        except StoreUnreachable as trouble:
            self._routes.doubt(node, trouble)
            raise
        if noting is not None and node not in self._routes.used:
            self._routes.note(noting, node, self.post)
        return reply

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        if node == EVERY_ONE:
            list_all(words[0], self.post, heard)
            return
        data, _, *more = words
        address = self._shards.master(node)
        if address is None:  # whoever posts something does not wait
            self._shards.look()
            heard(StoreRefused.unconnected(self._shards.place.shown, after=0.0))
            return
        try:
            wire, channel = self._wire(address)
        except StoreRefused as refusal:
            heard(refusal)
            return
        wire.post((data.replace(self._any, channel), *more), node, partial(_heard, self._routes, node, heard))

    def sleeper(self) -> None:
        return None

    def close(self) -> None:
        with self._changing:
            self._is_closed, wires = True, list(self._wires.values())
        for wire, _ in wires:
            wire.close()
        self._shards.leave(self)

    def moved(self) -> None:
        """Whoever is no master any more is not asked again, and whoever waits asks the new one."""
        masters = self._shards.masters()
        with self._changing:
            gone = [self._wires.pop(address) for address in list(self._wires) if address not in masters]
        for wire, _ in gone:
            wire.close()
        self._ear.ask_again()

    def _wire(self, address: Address) -> tuple[RedisWire, bytes]:
        """The one to this server, and the channel that it knows us by."""
        found = self._wires.get(address)
        if found is not None:
            return found
        with self._changing:
            if self._is_closed:
                raise StoreRefused.hung_up(self._shards.place.shown)
            if address not in self._wires:
                endpoint, channel = self._shards.place.at(address), self._routes.channel(address)
                self._wires[address] = self._to(endpoint, channel, self._ear, self._now), channel.encode()
            return self._wires[address]

    def _listed(self, words: Sequence[Any], within: float) -> Reply:
        give_up_at = self._now() + within
        self._shards.found(words[0].home, within)
        answers: SimpleQueue[Reply | StoreUnreachable] = SimpleQueue()
        self.post(words, EVERY_ONE, answers.put)
        try:
            answer = answers.get(timeout=max(give_up_at - self._now(), 0.0))
        except Empty:
            raise StoreUnreachable(self._shards.place.shown, after=within) from None
        if isinstance(answer, StoreUnreachable):
            raise answer
        return answer


class ClusterLine:
    """The line of an event loop."""

    def __init__(
        self, shards: Shards, channel: str, ear: Ear, now: Callable[[], float], *, to: To[RedisLine] = RedisLine
    ) -> None:
        self.channel, self._ear, self._now, self._to = channel, ear, now, to
        self._shards, self._routes = shards, Routes(shards, channel)
        self._any, self._lines = channel.encode(), dict["Address", tuple[RedisLine, bytes]]()
        self._loop = asyncio.get_running_loop()
        self._early: list[tuple[Sequence[Any], int, Heard]] = []
        self._finding: asyncio.Task[None] | None = None
        self._is_closed = False
        shards.join(self)

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        address = self._shards.master(node)
        found = self._lines.get(address) if address is not None else None
        if found is None:
            self._begin(address, words, node, heard)
            return
        (line, channel), (data, noting, *more) = found, words
        line.post((data.replace(self._any, channel), *more), node, partial(_heard, self._routes, node, heard))
        if noting is not None and node not in self._routes.used:
            self._routes.note(noting, node, self.post)

    def close(self) -> None:
        self._is_closed = True
        lines, self._lines = self._lines, {}
        for line, _ in lines.values():
            line.close()
        self._shards.leave(self)

    def moved(self) -> None:
        """The same as for threads. Any thread may say so."""
        with suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        masters = self._shards.masters()
        for address in [address for address in self._lines if address not in masters]:
            line, _ = self._lines.pop(address)
            line.close()
        if not self._is_closed:
            self._ear.ask_again()

    async def _find(self, slot: int) -> None:
        trouble: StoreUnreachable | None = None
        try:
            await aside(lambda: self._shards.found(slot, PATIENCE))
        except StoreUnreachable as error:
            trouble = error
        finally:
            self._finding, early, self._early = None, self._early, []
        for words, node, heard in early:
            if trouble is not None:
                heard(trouble)
            else:
                self.post(words, node, heard)

    def _begin(self, address: Address | None, words: Sequence[Any], node: int, heard: Heard) -> None:
        """There is no line to whoever is to be asked: yet, or any more, or all are."""
        if node == EVERY_ONE:
            list_all(words[0], self.post, heard)
        elif self._is_closed:
            heard(StoreRefused.hung_up(self._shards.place.shown))
        elif address is None:
            self._early.append((words, node, heard))
            self._finding = self._finding or self._loop.create_task(self._find(node), name="dibs-line")
        else:
            endpoint, channel = self._shards.place.at(address), self._routes.channel(address)
            self._lines[address] = self._to(endpoint, channel, self._ear, self._now), channel.encode()
            self.post(words, node, heard)


def _heard(routes: Routes, slot: int, heard: Heard, outcome: Reply | StoreUnreachable) -> None:
    if isinstance(outcome, StoreUnreachable):
        routes.doubt(slot, outcome)
    heard(outcome)
