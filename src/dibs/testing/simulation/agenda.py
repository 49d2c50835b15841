"""Virtual time: what is to happen, in order, and the coroutines that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from heapq import heappop, heappush
from types import coroutine
from typing import Any


class Cancelled(BaseException):
    """What asyncio would throw, at an await that the seed chose."""


@coroutine
def parked() -> Generator[None, Any, Any]:
    """Wait until somebody resumes this task, with the value it is resumed with."""
    return (yield)


class Dead(BaseException):
    """Whatever a task says after its process has crashed, or after the world has ended, is not heard."""


class Agenda:
    """Calls at moments; equal moments in the order they were made."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._made = 0

    def at(self, when: float, call: Callable[..., object], *args: Any) -> None:
        """Call it then; a moment that is over means now."""
        self._made += 1
        heappush(self._heap, (max(when, self.now), self._made, call, args))

    def run(self, until: float, is_over: Callable[[], bool]) -> None:
        """Let time pass until then, until it is over, or until nothing is left to happen."""
        heap, happened = self._heap, 0
        while heap and heap[0][0] <= until:
            self.now, _, call, args = heappop(heap)
            call(*args)
            happened += 1
            if not happened % 16 and is_over():  # asked now and then: it costs as much as what happens
                return


class Task:
    """A coroutine in virtual time. It counts its awaits, so that what comes too late finds it gone."""

    __slots__ = ("_flow", "_parked", "awaits", "error", "is_done", "owner")

    def __init__(self, flow: Coroutine[Any, Any, None], parked_hook: Callable[[Task], object]) -> None:
        self._flow, self._parked = flow, parked_hook
        self.awaits = 0
        self.owner = ""
        self.is_done = False
        self.error: BaseException | None = None

    def start(self) -> None:
        """Run up to the first await."""
        self.resume(0)

    def resume(self, awaits: int, value: object = None, *, error: BaseException | None = None) -> None:
        """Go on, if it is still at that await."""
        if self.is_done or awaits != self.awaits:
            return
        self.awaits += 1
        try:
            if error is None:
                self._flow.send(value)
            else:
                self._flow.throw(error)
        except StopIteration:
            self.is_done = True
        except BaseException as raised:  # noqa: BLE001 - the referee decides what an error means
            self.is_done, self.error = True, raised
        else:
            self._parked(self)

    def cancel(self, awaits: int) -> None:
        """Throw a cancellation in, if it is still at that await."""
        self.resume(awaits, error=Cancelled())

    def drop(self) -> None:
        """End without a word, as a crash does: what its clean-up tries to say raises `Dead`."""
        self.is_done = True
        with suppress(BaseException):
            self._flow.close()
