"""Lines on which some answers count only when replicas have what was done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable
from dibs.stores.redis.aio import RedisLine
from dibs.stores.redis.blocking import RedisWire
from dibs.stores.redis.dialogue import Heard
from dibs.stores.redis.seconding.seconder import Seconder, unseconded, wait_for_replicas
from dibs.stores.redis.sentinel.lines import SentinelLine, SentinelWire

if TYPE_CHECKING:
    from dibs.model.asks import Push
    from dibs.ports.store import Reply
    from dibs.ports.wire import Ear
    from dibs.stores.redis.endpoint import Endpoint
    from dibs.stores.redis.seconding.dialect import Seconding


class WakingEar:
    """To be handed a lock is no more than to be woken: no replica may have it yet, so it is asked for again."""

    def __init__(self, ear: Ear) -> None:
        self._ear, self.ask_again = ear, ear.ask_again

    def deliver(self, push: Push, asked_at: float) -> None:
        self._ear.deliver(replace(push, kind="woken") if push.kind == "handed" else push, asked_at)


class SecondedWire(RedisWire):
    """The line for threads."""

    def __init__(
        self, endpoint: Endpoint, channel: str, ear: Ear, now: Callable[[], float], *, replicas: int = 0
    ) -> None:
        super().__init__(endpoint, channel, WakingEar(ear), now)
        self._replicas, self._seconder = replicas, Seconder(endpoint, replicas, now)

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        give_up_at = self._now() + within
        reply = super().send(words, node, within)
        if len(words) > 1 and words[1].is_wanted(reply.value):
            self._second(words[1], give_up_at)
        return reply

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        more = words[1:]
        super().post(words, node, partial(_answered, self._seconder, more[0], heard) if more else heard)

    def close(self) -> None:
        super().close()
        self._seconder.close()

    def _second(self, seconding: Seconding, give_up_at: float) -> None:
        """On a connection of the thread's own: it waits anyway."""
        try:
            call = self._take(give_up_at)
        except StoreUnreachable as silence:
            raise unseconded(silence) from silence
        try:
            trouble = wait_for_replicas(call, seconding, self._replicas, give_up_at - self._now())
        except BaseException:
            call.close()
            raise
        self._give_back(call)
        if trouble is not None:
            raise trouble


class SecondedLine(RedisLine):
    """The line of an event loop."""

    def __init__(
        self, endpoint: Endpoint, channel: str, ear: Ear, now: Callable[[], float], *, replicas: int = 0
    ) -> None:
        super().__init__(endpoint, channel, WakingEar(ear), now)
        self._seconder = Seconder(endpoint, replicas, now)

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        if len(words) > 1:
            heard = partial(_answered, self._seconder, words[1], partial(_on, asyncio.get_running_loop(), heard))
        super().post(words, node, heard)

    def close(self) -> None:
        super().close()
        self._seconder.close()


class SecondedSentinelWire(SecondedWire, SentinelWire):
    """The same to a master that sentinels watch."""


class SecondedSentinelLine(SecondedLine, SentinelLine):
    """The same to a master that sentinels watch."""


def _answered(seconder: Seconder, seconding: Seconding, heard: Heard, outcome: Reply | StoreUnreachable) -> None:
    if isinstance(outcome, StoreUnreachable) or not seconding.is_wanted(outcome.value):
        heard(outcome)
    else:
        seconder.second(seconding, lambda trouble: heard(trouble or outcome))


def _on(loop: asyncio.AbstractEventLoop, heard: Heard, outcome: Reply | StoreUnreachable) -> None:
    """Pass it on where it is waited for, whichever thread brings it."""
    if asyncio._get_running_loop() is loop:  # noqa: SLF001 - it is documented, and cheap
        heard(outcome)
        return
    with suppress(RuntimeError):  # the loop was closed
        loop.call_soon_threadsafe(heard, outcome)
