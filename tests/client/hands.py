"""Workers in both colours, and programs that are one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import dibs
from dibs import Attempt, Dibs, Finish, Worker
from dibs.runtime.clock import boottime
from tests.chaos.actor import say, told

LONG = 30.0

Body: TypeAlias = Callable[[Attempt], object]


class Threads:
    """Workers of the one colour."""

    @staticmethod
    def acquire(worker: Worker, body: Body) -> Finish:
        @worker.on_acquired
        def work(last_attempt: bool) -> None:
            assert worker.attempt is not None
            assert worker.attempt.is_last is last_attempt
            body(worker.attempt)

        return worker.acquire()

    @staticmethod
    def loop(worker: Worker, body: Body) -> Finish | None:
        for attempt in worker.attempts():
            if body(attempt) == "leave":
                break
        return worker.finish


class Tasks:
    """Workers of the other, each in a loop of its own."""

    @staticmethod
    def acquire(worker: Worker, body: Body) -> Finish:
        @worker.on_acquired
        async def work(last_attempt: bool) -> None:
            assert worker.attempt is not None
            assert worker.attempt.is_last is last_attempt
            await asyncio.to_thread(body, worker.attempt)

        return asyncio.run(worker.aacquire())

    @staticmethod
    def loop(worker: Worker, body: Body) -> Finish | None:
        async def main() -> Finish | None:
            async for attempt in worker.attempts():
                if await asyncio.to_thread(body, attempt) == "leave":
                    break
            return worker.finish

        return asyncio.run(main())


Way: TypeAlias = type[Threads] | type[Tasks]


class Aside:
    """Something that is done by a thread of its own; its end can be waited for."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call, self._outcome, self._error = call, list[Any](), list[BaseException]()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def outcome(self) -> Any:
        self._thread.join(LONG)
        assert not self._thread.is_alive(), "it does not come to its end"
        if self._error:
            raise self._error[0]
        return self._outcome[0]

    def _run(self) -> None:
        try:
            self._outcome.append(self._call())
        except BaseException as error:  # noqa: BLE001 - shown to whoever asks for the outcome
            self._error.append(error)


def heard(happened: threading.Event) -> None:
    assert happened.wait(LONG), "it did not happen"


def locked(worker: Worker) -> threading.Event:
    """Happens when the worker has to wait for another one."""
    happened = threading.Event()
    worker.on_locked(happened.set)
    return happened


# The roles of programs.


def work(url: str, timeout: float) -> None:
    """Say when it is our turn, and do the work when told to."""
    worker = client(url).worker("mylock", lock_timeout=timeout)

    @worker.on_acquired
    def _(last_attempt: bool) -> None:
        assert worker.attempt is not None
        say("works", worker.attempt.number, worker.attempt.fence, boottime())
        told("go")
        worker.done()

    worker.on_locked(lambda: say("waits"))
    say("finish", worker.acquire())


def client(url: str) -> Dibs:
    return dibs.connect(url, quiet=True)
