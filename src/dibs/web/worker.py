"""A process at work: the jobs of a client, and HTTP beside them, on one loop, until it is told to leave."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from dibs.events.workers import PrimaryLost
from dibs.model.value import value
from dibs.observe.logs import LogReader
from dibs.runtime.echo import Echo
from dibs.web.extra import needed_by
from dibs.web.presence import draining, worker_id

if TYPE_CHECKING:
    from collections.abc import Generator

    from dibs.client import Dibs
    from dibs.runtime.supervisor.lifeline import Lifeline
    from dibs.web.server import HttpServer

SIGNALS = (signal.SIGTERM, signal.SIGINT)
BEAT = 1.0
LEAVE, HURRY = 1, 2
FAREWELL = 5.0
"""How long runs take to be handed back, whatever the store does."""


@value
class Site:
    """What is served by HTTP, and where."""

    app: Any
    host: str
    port: int


class Worker:
    """It leaves when a signal or its primary says so, when its primary is gone, and when jobs or HTTP have ended."""

    def __init__(self, client: Dibs, site: Site | None, *, grace: float, lifeline: Lifeline | None = None) -> None:
        self._client, self._site, self._grace, self._lifeline = client, site, grace, lifeline
        self._urgency, self._signals, self._is_orphan = 0, 0, False
        self._echo = Echo(monotonic)

    async def run(self) -> None:
        """Serve, then finish what is in hand."""
        self._loop, self._is_told = asyncio.get_running_loop(), asyncio.Event()
        self._server: HttpServer | None = None
        with self._heeded_signals(), self._held_line():
            http = await self._listening()
            jobs = self._working()
            going = [task for task in (http, jobs) if task is not None]
            told = asyncio.create_task(self._is_told.wait())
            await asyncio.sleep(0)  # the jobs are begun, and can be asked to leave
            if self._lifeline is not None and not any(task.done() for task in going):
                self._lifeline.say("ready")
            await asyncio.wait([told, *going], return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            try:
                await self._leave(http, jobs)
            finally:
                draining.clear()

    async def _listening(self) -> asyncio.Task[None] | None:
        """HTTP, up; it may have been given up instead."""
        if self._site is None:
            return None
        with needed_by("HTTP"):
            from dibs.web.server import HttpServer  # noqa: PLC0415 - it brings uvicorn, which is not always there

        self._server = HttpServer(self._site.app, self._site.host, self._site.port)
        http = asyncio.create_task(self._server.run_here(), name="dibs-http")
        waits = [asyncio.create_task(event.wait()) for event in (self._server.is_up, self._is_told)]
        await asyncio.wait([http, *waits], return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if not self._server.is_up.is_set():
            if self._is_told.is_set():
                http.cancel()
            await asyncio.wait([http])
            if not http.cancelled():
                http.result()
        return http

    def _working(self) -> asyncio.Task[None] | None:
        """The jobs, if there are any: who has only HTTP needs none, nor whose application serves them itself."""
        has_none = self._site is not None and (not self._client.has_jobs or self._client.is_serving)
        if has_none or self._is_told.is_set():
            return None
        return asyncio.create_task(self._client.aserve(grace=self._grace, signals=False), name="dibs-jobs")

    async def _leave(self, http: asyncio.Task[None] | None, jobs: asyncio.Task[None] | None) -> None:
        """Jobs first: meanwhile HTTP tells that this worker is not ready. Who lost its primary frees the port first."""
        draining.set()
        ends_at = self._loop.time() + self._grace
        self._client.stop_serving()
        if self._urgency >= HURRY:
            self._hurry()
        self._free_port()
        try:
            if jobs is not None:
                await jobs
            elif not await self._client.served(self._grace):  # by the application, with a grace of its own
                self._client.stop_serving()
                await self._client.served(FAREWELL)
        finally:
            if self._server is not None and http is not None and not http.done():
                self._server.leave(ends_at - self._loop.time())
                await asyncio.wait([http])
        if http is not None and not http.cancelled():
            http.result()

    def _free_port(self) -> None:
        """The next primary wants it."""
        if self._server is not None and self._is_orphan and draining.is_set():
            self._server.leave(self._grace)

    def _hurry(self) -> None:
        self._client.stop_serving()
        if self._server is not None:
            self._server.hurry()

    def _be_told(self, urgency: int) -> None:
        was_leaving, self._urgency = self._is_told.is_set() and draining.is_set(), max(urgency, self._urgency)
        self._is_told.set()
        if was_leaving and self._urgency >= HURRY:
            self._hurry()

    def _heed_signal(self, number: int) -> None:
        """Counted apart from what the primary says: who ends a whole group of processes sends it to both of us."""
        if not self._echo.is_one(number):
            self._signals += 1
            self._be_told(self._signals)

    @contextmanager
    def _heeded_signals(self) -> Generator[None]:
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._heed_signal, number)
        try:
            yield
        finally:
            for number in SIGNALS:
                self._loop.remove_signal_handler(number)

    @contextmanager
    def _held_line(self) -> Generator[None]:
        """While there is a primary, it hears us every second, and we hear it."""
        if self._lifeline is None:
            yield
            return
        beating = asyncio.create_task(self._beat(self._lifeline), name="dibs-beat")
        self._loop.add_reader(self._lifeline, self._heed, self._lifeline)
        try:
            yield
        finally:
            beating.cancel()
            self._loop.remove_reader(self._lifeline)

    async def _beat(self, lifeline: Lifeline) -> None:
        while True:
            lifeline.say("beat")
            await asyncio.sleep(BEAT)

    def _heed(self, lifeline: Lifeline) -> None:
        for said in lifeline.heard():
            if said.word in ("leave", "hurry"):
                self._be_told(HURRY if said.word == "hurry" else LEAVE)
        if lifeline.is_over and not self._is_orphan:
            self._loop.remove_reader(lifeline)
            self._is_orphan = True
            LogReader().on(PrimaryLost(worker_id()))
            self._be_told(LEAVE)
            self._free_port()
