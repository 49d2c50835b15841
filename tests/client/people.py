"""People who control a fleet, in both colours, and nodes that serve beside them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from dibs import Dibs, Run
from dibs.events import RunEnded
from dibs.ports.wire import Backend
from dibs.testing.contract import Diary
from tests.client.nodes import LONG

Says: TypeAlias = Callable[..., Any]


def blocking(of: Any, verb: str, *args: Any, **options: Any) -> Any:
    """Have it done by a thread."""
    return getattr(of, verb)(*args, **options)


def in_a_loop(of: Any, verb: str, *args: Any, **options: Any) -> Any:
    """Have it done by a task, in a loop of its own."""

    async def done() -> Any:
        return await getattr(of, f"a{verb}")(*args, **options)

    return asyncio.run(done())


class Worker:
    """A node that can do two things: `report` at once, and `wait` until it is told to stop."""

    def __init__(self, backend: Backend) -> None:
        self.diary = Diary()
        self.d = Dibs(backend, observers=[self.diary])
        self.reports: list[tuple[str, float]] = []
        """For which city, and which tick."""
        self.waits, self.stopped = threading.Event(), threading.Event()
        self.d.job(name="report")(self._report)
        self.d.job(name="wait")(self._wait)

    def _report(self, run: Run, *, city: str = "nowhere") -> str:
        self.reports.append((city, run.tick.timestamp()))
        return city

    async def _wait(self) -> None:
        self.waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()

    def sees_the_freeze(self) -> bool:
        service = self.d._service
        return service is not None and service._shift._stand_in.freeze is not None

    def ended(self, times: int) -> list[RunEnded]:
        """What it has told of runs that ended, once there are so many."""
        return self.diary.wait_for(RunEnded, times)


@contextmanager
def at_work(backend: Backend) -> Iterator[Worker]:
    """A node that serves meanwhile."""
    worker = Worker(backend)
    thread = threading.Thread(target=worker.d.serve, kwargs={"grace": 0.1})
    thread.start()
    try:
        yield worker
    finally:
        while thread.is_alive():
            worker.d.stop_serving()
            thread.join(0.1)
        thread.join(LONG)
        worker.d.close()
