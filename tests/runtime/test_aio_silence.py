"""How long the world of an event loop waits for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dibs.errors import StoreUnreachable
from dibs.model.request import PATIENCE
from dibs.ports.store import Command, Reply
from dibs.runtime.aio import LONGEST_CROWD, AsyncWorld

QUESTION = Command[Any](("what",), lambda answer: answer)


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose clock only the test moves."""

    clock = 0.0

    def time(self) -> float:
        return self.clock

    async def step(self, duration: float) -> None:
        """Let so much time pass, and whoever waited for it run."""
        self.clock += duration
        passed = self.create_future()
        self.call_at(self.clock, passed.set_result, None)
        await passed


class Line:
    """Answers when the test says so."""

    channel = "here"

    def __init__(self) -> None:
        self._heard: list[Callable[[Reply | StoreUnreachable], None]] = []

    def post(self, words: Sequence[Any], node: int, heard: Callable[[Reply | StoreUnreachable], None]) -> None:
        self._heard.append(heard)

    def answer(self, number: int) -> None:
        self._heard[number](Reply("so"))

    def close(self) -> None:
        raise NotImplementedError


@pytest.fixture
def loop() -> SteppedLoop:
    return SteppedLoop()


def play(loop: SteppedLoop, scene: Callable[[AsyncWorld, Line], Any]) -> None:
    async def main() -> None:
        line = Line()
        await scene(AsyncWorld(line, loop.time, "store://"), line)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())


def test_a_store_that_says_nothing_is_silent_after_the_time_it_has(loop: SteppedLoop) -> None:
    async def scene(world: AsyncWorld, line: Line) -> None:
        ask = world.ask(QUESTION, PATIENCE)
        await loop.step(PATIENCE - 0.1)
        assert not ask.done()
        await loop.step(0.1)
        assert isinstance(ask.exception(), StoreUnreachable)

    play(loop, scene)


@pytest.mark.parametrize("exactly", [False, True])
def test_one_that_answers_others_meanwhile_has_longer_unless_the_time_is_the_askers_own(
    loop: SteppedLoop, exactly: bool
) -> None:
    async def scene(world: AsyncWorld, line: Line) -> None:
        other, ask = world.ask(QUESTION, PATIENCE), world.ask(QUESTION, PATIENCE, exactly=exactly)
        await loop.step(PATIENCE - 0.5)
        line.answer(0)
        await loop.step(0.5)
        assert other.result() == "so"
        assert ask.done() is exactly
        await loop.step(PATIENCE - 0.6)
        assert ask.done() is exactly
        await loop.step(0.1)
        assert isinstance(ask.exception(), StoreUnreachable)

    play(loop, scene)


def test_however_busy_it_is_there_is_an_end(loop: SteppedLoop) -> None:
    async def scene(world: AsyncWorld, line: Line) -> None:
        ask = world.ask(QUESTION, PATIENCE)
        for number in range(1, int(PATIENCE + LONGEST_CROWD) + 1):
            assert not ask.done()
            world.ask(QUESTION, PATIENCE)
            await loop.step(1.0)
            line.answer(number)
        await loop.step(0.0)
        assert isinstance(ask.exception(), StoreUnreachable)

    play(loop, scene)


def test_an_answer_in_time_is_all_there_is_to_it(loop: SteppedLoop) -> None:
    async def scene(world: AsyncWorld, line: Line) -> None:
        asks = [world.ask(QUESTION, within, exactly=exactly) for within, exactly in ((PATIENCE, False), (0.5, True))]
        await loop.step(0.4)
        line.answer(0)
        line.answer(1)
        await loop.step(10 * PATIENCE)
        assert [ask.result() for ask in asks] == ["so", "so"]

    play(loop, scene)
