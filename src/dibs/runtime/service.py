"""A node at work: from when it begins to claim runs to when it has handed back the last."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from dibs.events import Serving, ServingEnded
from dibs.flows.shift import Shift
from dibs.runtime.crew import Crew, Part, Station
from dibs.runtime.echo import Echo
from dibs.runtime.scheduler import Scheduler

if TYPE_CHECKING:
    from dibs.flows.duty import Duty
    from dibs.runtime.engine import Engine

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LAST_MOMENT = 1.0
"""How long runs that were asked to stop have for it before they are handed back."""


class Service:
    """One node, on the running loop. Who asks it to leave has it finish what is in hand; who asks twice does not."""

    def __init__(self, engine: Engine, duties: Mapping[str, Duty], parts: Mapping[str, Part], station: Station) -> None:
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
        self._engine, self._jobs, self._grace = engine, tuple(duties), station.grace
        self._times_asked, self._has_ended = 0, False
        self._is_over, self._echo = asyncio.Event(), Echo(self._loop.time)
        self._scheduler = Scheduler(engine, self._note_end)
        self._crew = Crew(engine, parts, station, changed=self._note_change)
        self._shift = Shift(engine.blocking("run jobs"), engine.desk, duties, self._crew)

    async def run(self, *, with_signals: bool) -> None:
        """Serve until asked to leave. One who is cancelled leaves at once."""
        with self._heeded_signals() if with_signals else nullcontext():
            self._engine.tell(Serving(self._crew.node, self._jobs))
            self._scheduler.start(self._shift)
            try:
                await self._until(lambda: self._times_asked > 0 or self._has_ended)
                await self._finish()
            finally:
                await _to_the_end(self._leave())
                self._is_over.set()

    @property
    def is_leaving(self) -> bool:
        """Whether somebody has asked it to leave."""
        return self._times_asked > 0

    async def has_left(self, within: float) -> bool:
        """Wait for its end, for so long; whether it has come. For its own loop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_over.wait(), within)
        return self._is_over.is_set()

    def ask_to_leave(self) -> None:
        """May be called from any thread; and again, to hurry."""
        with suppress(RuntimeError):  # the loop was closed: it has left
            self._loop.call_soon_threadsafe(self._note_ask)

    async def _finish(self) -> None:
        """Let runs come to their end, for as long as they may."""
        self._scheduler.stop_claiming()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                await self._until(lambda: self._times_asked > 1 or self._crew.is_idle or self._has_ended)

    async def _leave(self) -> None:
        """What does not end now is handed back, or given up. It takes a few seconds, whatever the store does."""
        self._scheduler.stop_claiming()
        self._crew.dismiss()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_MOMENT):
                await self._until(lambda: self._crew.is_idle)
        unfinished = [mine for mine in list(self._shift.charge.underway.values()) if mine.ending is None]
        self._scheduler.end()
        await self._until(lambda: self._has_ended)
        self._scheduler.join()
        self._crew.leave_behind()
        self._engine.tell(ServingEnded(self._crew.node, len(unfinished)))

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so. A client that is closed ends the scheduler, and everybody learns of it."""
        while not is_so():
            self._news.clear()
            await self._news.wait()

    def _heed_signal(self, number: int) -> None:
        if not self._echo.is_one(number):
            self._note_ask()

    def _note_ask(self) -> None:
        self._times_asked += 1
        self._news.set()

    def _note_change(self) -> None:
        """A run is over. Called from any thread."""
        self._scheduler.wake()
        with suppress(RuntimeError):  # as above
            self._loop.call_soon_threadsafe(self._news.set)

    def _note_end(self) -> None:
        """The scheduler has ended. Called from its thread."""
        self._has_ended = True
        with suppress(RuntimeError):  # as above
            self._loop.call_soon_threadsafe(self._news.set)

    @contextmanager
    def _heeded_signals(self) -> Generator[None]:
        """While it serves, who ends the program asks it to leave first. Python leaves signals to the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in SIGNALS}
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._heed_signal, number)
        try:
            yield
        finally:
            for number, handler in before.items():
                self._loop.remove_signal_handler(number)
                if handler is not None:  # as one that was not set from Python
                    signal.signal(number, handler)


async def _to_the_end(doing: Coroutine[Any, Any, None]) -> None:
    """Do it, and let nobody cancel it; who tried is told afterwards."""
    task, was_cancelled = asyncio.ensure_future(doing), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            was_cancelled = True
    task.result()
    if was_cancelled:
        raise asyncio.CancelledError
