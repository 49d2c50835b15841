"""The world that the flows of a simulated process live in: virtual time, and messages that the weather may eat."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.ports.store import Command, Reply
from dibs.ports.world import Outcome, Wake
from dibs.testing.simulation.agenda import Dead, Task, parked
from dibs.testing.simulation.network import Heard

if TYPE_CHECKING:
    from dibs.testing.simulation.process import Process

T = TypeVar("T")


class Sends(Protocol):
    """What a world needs of a line."""

    def send(self, command: Command[Any], heard: Heard) -> None:
        """Send once."""
        ...


class SimWorld:
    """The third world: virtual time, and messages that the weather may eat."""

    def __init__(self, process: Process, lines: Sequence[Sends], lane: str) -> None:
        self._process, self._lines, self._lane = process, lines, lane
        self.now, self.token = process.clock, process.token
        self._ahead: float | None = None

    def store_time(self) -> float | None:
        return None if self._ahead is None else self.now() + self._ahead

    def listen(self, owner: str) -> SimInbox:
        return SimInbox(self._process, self._lane)

    async def ask(self, command: Command[T], within: float, *, exactly: bool = False) -> T:
        task, asked_at = self._task(), self.now()
        awaits, answers = task.awaits, list[Reply | StoreUnreachable]()

        def heard(outcome: Reply | StoreUnreachable) -> None:
            self._note_time(outcome, asked_at)
            answers.append(outcome)
            self._process.resume(self._lane, task, awaits)

        self._lines[command.node].send(command, heard)
        self._wake_in(within)
        await parked()
        outcome = answers[0] if answers else StoreUnreachable("sim://", after=within)
        if isinstance(outcome, StoreUnreachable):
            raise outcome
        return command.read(outcome.value)

    async def ask_all(
        self, commands: Sequence[Command[T]], within: float, enough: Callable[[Sequence[Outcome[T] | None]], bool]
    ) -> Sequence[Outcome[T] | None]:
        outcomes: list[Outcome[T] | None] = [None] * len(commands)
        task, asked_at = self._task(), self.now()

        def heard(position: int, command: Command[T], outcome: Reply | StoreUnreachable) -> None:
            self._note_time(outcome, asked_at)
            outcomes[position] = command.read(outcome.value) if isinstance(outcome, Reply) else outcome
            if waiting:
                self._process.resume(self._lane, task, waiting[0])

        waiting: list[int] = []
        for position, command in enumerate(commands):
            self._lines[command.node].send(command, partial(heard, position, command))
        while None in outcomes and not enough(outcomes) and self.now() < asked_at + within:
            waiting[:] = [task.awaits]
            self._wake_in(asked_at + within - self.now())
            await parked()
        waiting.clear()
        return outcomes

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        def read(outcome: Reply | StoreUnreachable) -> None:
            if isinstance(outcome, Reply):
                heard(command.read(outcome.value))
            elif undone is not None and isinstance(outcome, StoreRefused):
                undone()

        if not self._process.is_dead:
            self._lines[command.node].send(command, read)

    async def pause(self, duration: float) -> None:
        self._wake_in(duration)
        await parked()

    def _note_time(self, outcome: Reply | StoreUnreachable, asked_at: float) -> None:
        if isinstance(outcome, Reply) and outcome.at is not None:
            self._ahead = outcome.at - asked_at

    def _wake_in(self, duration: float) -> None:
        process, task = self._process, self._task()
        if duration < inf:
            when = process.agenda.now + process.true_duration(max(duration, 0.0)) + 1e-9
            process.agenda.at(when, process.resume, self._lane, task, task.awaits)

    def _task(self) -> Task:
        task = self._process.running
        if task is None:
            raise Dead
        return task


class SimInbox:
    """Wake-ups that a simulated task waits for."""

    def __init__(self, process: Process, lane: str) -> None:
        self._process, self._lane = process, lane
        self.channel, self.ran_at = process.channel, process.ran_at
        self._wakes: deque[Wake] = deque()
        self._waiter: tuple[Task, int] | None = None

    def put(self, wake: Wake) -> None:
        self._wakes.append(wake)
        if self._waiter is not None:
            self._process.agenda.at(0.0, self._process.resume, self._lane, *self._waiter)

    async def next(self, within: float) -> Wake | None:
        process = self._process
        if not self._wakes and within > 0 and process.running is not None:
            task = process.running
            self._waiter = (task, task.awaits)
            if within < inf:
                when = process.agenda.now + process.true_duration(within) + 1e-9
                process.agenda.at(when, process.resume, self._lane, task, task.awaits)
            await parked()
            self._waiter = None
        return self._wakes.popleft() if self._wakes else None

    def arrived(self) -> Sequence[Wake]:
        wakes = list(self._wakes)
        self._wakes.clear()
        return wakes
