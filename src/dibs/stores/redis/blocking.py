"""The line for threads: a connection for each that is inside a call, and one that is there to be told things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.ports.store import Reply
from dibs.stores.redis.call import SHORTEST, Call
from dibs.stores.redis.dialogue import Heard, told_with
from dibs.stores.redis.trunk import Trunk

if TYPE_CHECKING:
    from dibs.ports.wire import Ear
    from dibs.stores.redis.endpoint import Endpoint

MOST_IDLE = 16
"""How many connections are kept open that no thread uses just now."""


class RedisWire:
    """One client's line for its threads."""

    def __init__(self, endpoint: Endpoint, channel: str, ear: Ear, now: Callable[[], float]) -> None:
        self.channel, self._endpoint, self._now = channel, endpoint, now
        self._trunk = Trunk(endpoint, channel, ear, now, lost=WeakMethod(self.drop_idle))
        self._idle: list[Call] = []
        self._is_closed = False

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        asked_at = self._now()
        give_up_at = asked_at + within
        if self._is_closed:
            raise self._hung_up()
        if not self._trunk.is_up:
            self._trunk.wait_until_up(within)
        call = self._take(give_up_at)
        try:
            reply = call.ask(words[0], give_up_at)
        except BaseException:
            call.close()  # an answer that comes too late must not be taken for the next one's
            raise
        self._give_back(call)
        if isinstance(reply, StoreUnreachable):
            raise reply
        for push in told_with(reply.value):
            self._trunk.ear.deliver(push, asked_at)
        return reply

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        if self._is_closed:
            heard(self._hung_up())
        else:
            self._trunk.post(words[0], heard)

    def sleeper(self) -> None:
        return None

    def close(self) -> None:
        self._is_closed = True
        self._trunk.close()
        self.drop_idle()
        self._endpoint.close()

    def drop_idle(self) -> None:
        """The server has gone, or we have."""
        while (call := self._idle_one()) is not None:
            call.close()

    def _take(self, give_up_at: float) -> Call:
        while (call := self._idle_one()) is not None:
            if call.is_fit():
                return call
            call.close()
        return Call(self._endpoint, self._now, max(give_up_at - self._now(), SHORTEST))

    def _idle_one(self) -> Call | None:
        try:
            return self._idle.pop()
        except IndexError:  # none, or another thread was quicker
            return None

    def _give_back(self, call: Call) -> None:
        if self._is_closed or len(self._idle) >= MOST_IDLE:
            call.close()
        else:
            self._idle.append(call)

    def _hung_up(self) -> StoreRefused:
        return StoreRefused.hung_up(self._endpoint.server)
