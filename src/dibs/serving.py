"""How a client takes part in running jobs."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.events import JobUnbound
from dibs.schedule import Scheduling

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from dibs.model.duration import Duration
    from dibs.runtime.service import Service

WORKERS = 32
MOST_WORKERS = 10_000
GRACE = 30.0


class Serving(Scheduling):
    """What makes a process a node of the fleet."""

    _service: Service | None = None
    """The node that this client is."""

    def serve(self, *, workers: int = WORKERS, grace: Duration = GRACE) -> None:
        """Run the jobs of this client, with all the others who serve, until SIGTERM or SIGINT.

        At most so many `workers` are at work at once. When it is to end, it claims nothing more, lets runs finish
        within the `grace`, and hands back the rest; a second signal ends the grace.
        """
        from asyncio import run  # noqa: PLC0415 - see Engine.aio

        _refuse_within_a_loop()
        run(self.aserve(workers=workers, grace=grace))

    async def aserve(self, *, workers: int = WORKERS, grace: Duration = GRACE) -> None:
        """Run the jobs of this client, with all the others who serve, until SIGTERM or SIGINT.

        At most so many `workers` are at work at once. When it is to end, it claims nothing more, lets runs finish
        within the `grace`, and hands back the rest; a second signal ends the grace.
        """
        service = self._begun(workers, grace)
        try:
            await service.run(with_signals=True)
        finally:
            self._has_left()

    run = serve

    @asynccontextmanager
    async def lifespan(
        self, app: object = None, *, workers: int = WORKERS, grace: Duration = GRACE
    ) -> AsyncGenerator[None]:
        """Serve beside a web application, on its loop: `Starlette(lifespan=d.lifespan)`. Signals are left to it."""
        from asyncio import create_task  # noqa: PLC0415 - see Engine.aio

        service = self._begun(workers, grace)
        serving = create_task(service.run(with_signals=False), name="dibs-serving")
        try:
            yield
        finally:
            service.ask_to_leave()
            try:
                await serving
            finally:
                self._has_left()

    def stop_serving(self) -> None:
        """Ask for the end, as SIGTERM does; and again, to hurry. From any thread."""
        if self._service is not None:
            self._service.ask_to_leave()

    def _begun(self, workers: object, grace: object) -> Service:
        """A node that is about to begin, of all the jobs that there are."""
        from dibs.runtime.service import Service  # noqa: PLC0415 - it needs an event loop, see Engine.aio

        self._refuse_while_serving("serve()")
        _refuse_unguarded()
        most, lasts = _checked_workers(workers), _checked_grace(grace)
        roster = self._jobs()
        for method in roster.unbound():
            self._engine.tell(JobUnbound(method.name, str(method.body.about)))
        jobs = roster.jobs()
        if not jobs:
            raise ConfigError("there is nothing to serve: put @d.cron(...) or @d.every(...) above a function first")
        duties, parts = {job.name: job.duty for job in jobs}, {job.name: job.part() for job in jobs}
        service = Service(self._engine.detours.for_jobs, duties, parts, workers=most, grace=lasts)
        self._service, self._serves_in = service, os.getpid()
        return service

    def _has_left(self) -> None:
        self._service, self._serves_in = None, 0


def _checked_workers(workers: object) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise ConfigError(f"workers={workers!r}: give a whole number from 1 to {MOST_WORKERS}")
    return workers


def _checked_grace(grace: object) -> float:
    from dibs.model.duration import seconds  # noqa: PLC0415 - beside the others

    try:
        return seconds(grace)
    except ValueError as fault:
        raise ConfigError(f"grace: {fault}") from None


def _refuse_within_a_loop() -> None:
    from asyncio import get_running_loop  # noqa: PLC0415 - see Engine.aio

    try:
        get_running_loop()
    except RuntimeError:
        return
    raise ConfigError("serve() within an event loop would stop it: `await d.aserve()` instead")


def _refuse_unguarded() -> None:
    """A process that is being made for a run loads the main module once more: it must not serve in its turn."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and getattr(processes.current_process(), "_inheriting", False):
        raise ConfigError(
            "this module is being loaded for a run with process=True: serve under `if __name__ == '__main__'`"
        )
