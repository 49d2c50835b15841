"""When the line of an event loop sends what its tasks ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from dibs.errors import StoreUnreachable
from dibs.model.asks import Push
from dibs.ports.store import Reply
from dibs.stores.redis.aio import ENOUGH, RedisLine, _Talk  # pyright: ignore[reportPrivateUsage]

ANSWER = b":7\r\n"


class Wire:
    """A connection whose other end is the test."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        line = cast("RedisLine", SimpleNamespace(ear=self, now=lambda: 0.0, broke=lambda *_: None))
        opened = cast("Any", SimpleNamespace(_reader=None, _writer=SimpleNamespace(transport=self)))
        self.talk = _Talk(line, opened, cast("Any", SimpleNamespace(server="redis://here")))

    def deliver(self, push: Push, asked_at: float) -> None:
        raise NotImplementedError

    def ask_again(self) -> None:
        raise NotImplementedError

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """It is always the same."""

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def ask(self, words: bytes, then: Callable[[], None] = lambda: None) -> None:
        def heard(outcome: Reply | StoreUnreachable) -> None:
            assert isinstance(outcome, Reply)
            then()

        self.talk.say(words, heard)

    def ask_twice(self, count: int) -> None:
        """So many ask, and ask again when they are answered."""
        for number in range(count):
            self.ask(b"%d" % number, lambda: self.ask(b"again "))

    def answer(self, count: int) -> None:
        data = ANSWER * count
        self.talk.get_buffer(-1)[: len(data)] = data
        self.talk.buffer_updated(len(data))


async def _play(scene: Callable[[Wire], None]) -> list[bytes]:
    wire = Wire()
    wire.ask(b"first")
    scene(wire)
    await asyncio.sleep(0)
    return wire.writes[1:]


def _sent(scene: Callable[[Wire], None]) -> list[bytes]:
    return asyncio.run(_play(scene))


def test_what_is_asked_while_answers_are_passed_on_goes_out_together() -> None:
    def scene(wire: Wire) -> None:
        wire.ask_twice(3)
        wire.answer(1)  # sends what was asked meanwhile
        wire.answer(3)

    assert _sent(scene) == [b"012", b"again again again "]


def test_of_a_crowd_that_is_answered_together_the_first_are_not_kept_waiting_for_the_last() -> None:
    def scene(wire: Wire) -> None:
        wire.ask_twice(ENOUGH + 2)
        wire.answer(1)
        wire.answer(ENOUGH + 2)

    assert _sent(scene)[1:] == [b"again " * ENOUGH, b"again " * 2]


def test_a_server_that_has_something_to_do_is_sent_all_of_it_at_once() -> None:
    def scene(wire: Wire) -> None:
        wire.ask_twice(2 * ENOUGH)
        wire.answer(1)
        wire.answer(2 * ENOUGH - 1)  # of one the answer is still to come

    assert _sent(scene)[1:] == [b"again " * (2 * ENOUGH - 1)]
