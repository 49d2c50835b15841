"""The ways to a store that the suite asks by itself, without a client: one a colour."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable

if TYPE_CHECKING:
    from dibs.model.asks import Push
    from dibs.ports.store import Command, Reply
    from dibs.ports.wire import Backend, Line

PATIENCE = 5.0


class Ear:
    """Collects what a store tells unasked."""

    def __init__(self) -> None:
        self.pushes: list[Push] = []
        self.told = threading.Condition()
        self.tell: Callable[[], object] = lambda: None

    def deliver(self, push: Push, asked_at: float) -> None:
        with self.told:
            self.pushes.append(push)
            self.told.notify_all()
        self.tell()

    def ask_again(self) -> None:
        """Nothing is ever missed here."""


class BlockingLine:
    """A thread's way to the store."""

    def __init__(self, backend: Backend, ear: Ear) -> None:
        self._wire, self._ear = backend.blocking(ear, time.monotonic), ear
        self.channel, self.close = self._wire.channel, self._wire.close

    def value(self, command: Command[Any]) -> Any:
        """What the store answers."""
        return self._wire.send(command.words, command.node, PATIENCE).value

    def hear(self, pushes: int) -> None:
        """Wait until so many things were told."""
        with self._ear.told:
            self._ear.told.wait_for(lambda: len(self._ear.pushes) >= pushes, PATIENCE)


class AsyncLine:
    """An event loop's way to the store."""

    def __init__(self, backend: Backend, ear: Ear) -> None:
        self._loop = asyncio.new_event_loop()
        self._line = self._loop.run_until_complete(self._opened(backend, ear))
        self.channel, self._ear = self._line.channel, ear

    def value(self, command: Command[Any]) -> Any:
        """What the store answers."""
        return self._loop.run_until_complete(asyncio.wait_for(self._answer(command), PATIENCE))

    def hear(self, pushes: int) -> None:
        """Wait until so many things were told."""
        with suppress(TimeoutError):
            while len(self._ear.pushes) < pushes:
                self._loop.run_until_complete(asyncio.wait_for(self._next_push(), PATIENCE))

    def close(self) -> None:
        """Hang up."""
        self._loop.run_until_complete(self._closed())
        self._loop.close()

    async def _opened(self, backend: Backend, ear: Ear) -> Line:
        return backend.aio(ear, time.monotonic)

    async def _closed(self) -> None:
        self._line.close()
        await asyncio.sleep(0)  # what it leaves to the loop is done

    async def _next_push(self) -> None:
        told = asyncio.Event()
        self._ear.tell = partial(asyncio.get_running_loop().call_soon_threadsafe, told.set)
        await told.wait()

    async def _answer(self, command: Command[Any]) -> Any:
        heard: asyncio.Future[Reply | StoreUnreachable] = asyncio.get_running_loop().create_future()
        self._line.post(command.words, command.node, heard.set_result)
        outcome = await heard
        if isinstance(outcome, StoreUnreachable):
            raise outcome
        return outcome.value


LINES: dict[str, Callable[[Backend, Ear], BlockingLine | AsyncLine]] = {
    "blocking": BlockingLine,
    "asyncio": AsyncLine,
}
