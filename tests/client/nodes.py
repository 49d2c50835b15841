"""Nodes to look at: a client that serves in a thread, on a store whose clock stands until it is stepped."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Self

from dibs import Dibs, Job, RunView
from dibs.events import RunEnded
from dibs.ports.wire import Backend
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary

LONG = 30.0
START = 1_800_000_000.0
UNTIL_ENROLLED = 8
"""So many asks does a node need to make its jobs known and look for the first time."""


class Clock:
    """A store's clock, which tells how often it was asked."""

    def __init__(self) -> None:
        self.now, self.asks, self._asked = START, 0, threading.Condition()

    def __call__(self) -> float:
        with self._asked:
            self.asks += 1
            self._asked.notify_all()
        return self.now

    def wait_for_asks(self, times: int) -> None:
        with self._asked:
            assert self._asked.wait_for(lambda: self.asks >= times, LONG), "nobody asks the store"


class Node:
    """One client and its thread."""

    def __init__(self, backend: Backend | None = None, **settings: Any) -> None:
        self.clock, self.diary = Clock(), Diary()
        self.d = Dibs(backend or MemoryBackend(clock=self.clock), observers=[self.diary], **settings)
        self.thread: threading.Thread | None = None

    def start(self, **options: Any) -> None:
        """Serve, and be there for the first tick."""
        begins_at = self.clock.asks
        self.thread = threading.Thread(target=self.d.serve, kwargs=options)
        self.thread.start()
        self.clock.wait_for_asks(begins_at + UNTIL_ENROLLED)

    def step(self, by: float = 1.0) -> None:
        """Let the store's clock go on."""
        self.clock.now += by
        self.wake()

    def wake(self) -> None:
        """Let it look now."""
        service = self.d._service
        assert service is not None
        service._scheduler.wake()

    def end(self) -> None:
        """Let it finish, and see it end."""
        self.d.stop_serving()
        self.join()

    def join(self) -> None:
        assert self.thread is not None
        self.thread.join(LONG)
        assert not self.thread.is_alive(), "it serves and serves"

    def outcome(self, job: Job[Any]) -> RunView:
        """What comes of the next tick."""
        ended = len(self.diary.of(RunEnded))
        self.step()
        self.diary.wait_for(RunEnded, ended + 1)
        return self.history(job)[0]

    def history(self, job: Job[Any]) -> Sequence[RunView]:
        return job.history()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.thread is not None and self.thread.is_alive():
            self.d.stop_serving()
            self.d.stop_serving()
            self.thread.join(LONG)
        self.d.close()
