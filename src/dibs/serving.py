"""How a client takes part in running jobs."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol, cast

from dibs.errors import ConfigError
from dibs.events import JobUnbound
from dibs.scheduling import Scheduling

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

    from dibs.model.duration import Duration
    from dibs.runtime.crew import Station
    from dibs.runtime.service import Service
    from dibs.skipped import Skipped

WORKERS = 32
MOST_WORKERS = 10_000
GRACE = 30.0
LONGEST_WAIT = 0.5
"""A node waits no longer for the lock of a chore, whatever the configuration says: its runs are to be renewed."""


class _Executes(Protocol):
    """A client, as far as it has locks."""

    def execute_with_lock(
        self, name: str, fn: Callable[[], bool], *, reentrant: bool, wait: float, purpose: str
    ) -> bool | Skipped: ...


class Serving(Scheduling):
    """What makes a process a node of the fleet."""

    _service: Service | None = None
    """The node that this client is."""

    @property
    def has_jobs(self) -> bool:
        """Whether there is anything to serve."""
        return self._roster is not None and bool(self._roster.jobs())

    @property
    def is_serving(self) -> bool:
        """Whether this client takes part just now, in this process."""
        return self._serves_in == os.getpid()

    def serve(
        self,
        *,
        workers: int = WORKERS,
        grace: Duration = GRACE,
        labels: str | Iterable[str] | None = None,
        version: str | None = None,
        signals: bool = True,
    ) -> None:
        """Run the jobs of this client, with all the others who serve, until SIGTERM or SIGINT.

        At most so many `workers` are at work at once. When it is to end, it claims nothing more, lets runs finish
        within the `grace`, and hands back the rest; a second signal ends the grace. The `labels` say which jobs it can
        do that ask for some, and the `version` is shown to people; what is left out, the configuration may say. Without
        `signals` they are left to the program, and `stop_serving()` ends it.
        """
        from asyncio import run  # noqa: PLC0415 - see Engine.aio

        _refuse_within_a_loop()
        run(self.aserve(workers=workers, grace=grace, labels=labels, version=version, signals=signals))

    async def aserve(
        self,
        *,
        workers: int = WORKERS,
        grace: Duration = GRACE,
        labels: str | Iterable[str] | None = None,
        version: str | None = None,
        signals: bool = True,
    ) -> None:
        """Run the jobs of this client, with all the others who serve, until SIGTERM or SIGINT.

        At most so many `workers` are at work at once. When it is to end, it claims nothing more, lets runs finish
        within the `grace`, and hands back the rest; a second signal ends the grace. The `labels` say which jobs it can
        do that ask for some, and the `version` is shown to people; what is left out, the configuration may say. Without
        `signals` they are left to the program, and `stop_serving()` ends it.
        """
        service = self._begun(self._station(workers, grace, labels=labels, version=version))
        try:
            await service.run(with_signals=signals)
        finally:
            self._has_left()

    run = serve

    @asynccontextmanager
    async def lifespan(
        self,
        app: object = None,
        *,
        workers: int = WORKERS,
        grace: Duration = GRACE,
        labels: str | Iterable[str] | None = None,
        version: str | None = None,
    ) -> AsyncGenerator[None]:
        """Serve beside a web application, on its loop: `Starlette(lifespan=d.lifespan)`. Signals are left to it."""
        from asyncio import create_task  # noqa: PLC0415 - see Engine.aio

        service = self._begun(self._station(workers, grace, labels=labels, version=version))
        serving = create_task(service.run(with_signals=False), name="dibs-serving")
        try:
            yield
        finally:
            if not service.is_leaving:  # twice would be to hurry
                service.ask_to_leave()
            try:
                await serving
            finally:
                self._has_left()

    def stop_serving(self) -> None:
        """Ask for the end, as SIGTERM does; and again, to hurry. From any thread."""
        if self._service is not None:
            self._service.ask_to_leave()

    def served(self, within: float) -> Awaitable[bool]:
        """To be awaited on its own loop: until it takes part no more, for so long; whether that is so."""
        return _so() if self._service is None else self._service.has_left(within)

    def _station(self, workers: object, grace: object, *, labels: object, version: object) -> Station:
        """What the node is told of itself: by an argument, or else by the configuration."""
        from dibs.runtime.crew import Station  # noqa: PLC0415 - as in the next

        told = self.config.version if version is None else _checked_version(version)
        having = self.config.labels if labels is None else _checked_labels(labels)
        return Station(_checked_workers(workers), _checked_grace(grace), told, having, self._under)

    def _under(self, lock: str, act: Callable[[], bool]) -> bool:
        """Do a chore of the fleet's under its lock; or leave it to whoever has that."""
        wait, client = min(self.config.workflow_wait, LONGEST_WAIT), cast("_Executes", self)
        return client.execute_with_lock(lock, act, reentrant=True, wait=wait, purpose="see to steps") is True

    def _begun(self, station: Station) -> Service:
        """A node that is about to begin, of all the jobs that there are."""
        from dibs.runtime.service import Service  # noqa: PLC0415 - it needs an event loop, see Engine.aio

        self._refuse_while_serving("serve()")
        _refuse_unguarded()
        roster = self._jobs()
        for method in roster.unbound():
            self._engine.tell(JobUnbound(method.name, str(method.body.about)))
        jobs = roster.jobs()
        if not jobs:
            raise ConfigError("there is nothing to serve: put @d.cron(...), @d.every(...) or @d.job above a function")
        self._engine.detours.for_jobs.refuse_where_many_vote("jobs")
        duties, parts = {job.name: job.duty for job in jobs}, {job.name: job.part() for job in jobs}
        service = Service(self._engine.detours.for_jobs, duties, parts, station)
        self._service, self._serves_in = service, os.getpid()
        return service

    def _has_left(self) -> None:
        self._service, self._serves_in = None, 0


async def _so() -> bool:
    return True


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


def _checked_labels(labels: object) -> tuple[str, ...]:
    from dibs.jobs.terms import checked_labels  # noqa: PLC0415 - beside the others

    return checked_labels(labels)


def _checked_version(version: object) -> str:
    from dibs.model.names import text_fault  # noqa: PLC0415 - beside the others

    if fault := text_fault(version, what="a version"):
        raise ConfigError(f"version={version!r}: {fault}")
    return str(version)


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
