"""A server that is away is tried again at the pace that was set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import pytest

from dibs.errors import StoreRefused
from dibs.ports.store import Command
from dibs.stores.redis import open_store
from dibs.testing.contract.lines import LINES, AsyncLine, BlockingLine, Ear
from tests.chaos.colours import BOTH
from tests.chaos.moments import IN_TIME, LONG, ends_within, so
from tests.servers.door import Door
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server

T = TypeVar("T")
Lined = Callable[[str, float | None], "BlockingLine | AsyncLine"]


@pytest.fixture(params=BOTH)
def lined(request: pytest.FixtureRequest) -> Iterator[Lined]:
    """Makes a line of one colour; it is hung up after the test, and that takes no time."""
    made: list[BlockingLine | AsyncLine] = []

    def make(url: str, interval: float | None) -> BlockingLine | AsyncLine:
        made.append(LINES[request.param](open_store(url, retry_interval=interval), Ear()))
        return made[-1]

    yield make
    with ends_within(IN_TIME):
        for line in made:
            line.close()
            if isinstance(line, BlockingLine) and (thread := line._wire._trunk._thread):  # type: ignore[attr-defined]
                thread.join(LONG)


def meanwhile(line: BlockingLine | AsyncLine, wait: Callable[[], T]) -> T:
    """Wait for something; the loop runs meanwhile if it is a loop's line."""
    return wait() if isinstance(line, BlockingLine) else line._loop.run_until_complete(asyncio.to_thread(wait))


def answer(line: BlockingLine | AsyncLine, command: Command[float]) -> object:
    """What the server says once it is back; a try that began before may still fail."""
    try:
        return line.value(command)
    except StoreRefused:
        return line.value(command)


def is_lost(line: BlockingLine | AsyncLine) -> bool:
    talks: Any = line._wire._trunk if isinstance(line, BlockingLine) else line._line  # type: ignore[attr-defined]
    return talks._talk is None


@pytest.mark.parametrize(
    ("interval", "tries", "least", "most"),
    [
        # At our own pace, one pause takes 1 s at the most.
        pytest.param(1.5, 2, 1.2, LONG, marks=pytest.mark.thorough),
        (0.0, 12, 0.3, 2.5),  # at our own, eleven take 3.5 s at the least; and with none at all, no time
    ],
)
@on_valkey_9
def test_a_server_that_was_lost_is_tried_again_at_the_pace_that_was_set(
    private_server: Server, lined: Lined, interval: float, tries: int, least: float, most: float
) -> None:
    line = lined(private_server.url, interval)
    time = open_store(private_server.url).locks("n").time()
    assert line.value(time)
    private_server.kill()
    with Door(private_server.port) as door:
        came = meanwhile(line, partial(door.wait_for, tries))
        assert least <= came[-1] - came[0] <= most
    private_server.restart()
    assert answer(line, time)


@on_valkey_9
def test_who_waits_for_its_next_try_can_hang_up(private_server: Server, lined: Lined) -> None:
    line = lined(private_server.url, 3600.0)
    assert line.value(open_store(private_server.url).locks("n").time())
    private_server.kill()
    assert meanwhile(line, partial(so(partial(is_lost, line)).wait, LONG))
