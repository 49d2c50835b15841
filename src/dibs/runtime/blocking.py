"""The world of threads: it never suspends, so one step runs a flow from start to end."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.request import A_MOMENT
from dibs.ports.store import Reply

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.ports.wire import Sleeper, Wire
    from dibs.ports.world import Outcome, Wake

T = TypeVar("T")


def run(flow: Coroutine[Any, Any, T]) -> T:
    """Run a flow whose world never suspends."""
    try:
        flow.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    flow.close()
    raise RuntimeError("a flow suspended in the blocking world")


def new_token() -> str:
    """128 random bits, as text."""
    return os.urandom(16).hex()


class BlockingWorld:
    """Threads, a wire that blocks, and inboxes that threads sleep on."""

    def __init__(self, wire: Wire, now: Callable[[], float]) -> None:
        self.now, self.token, self._wire = now, new_token, wire
        self._ahead: float | None = None

    def store_time(self) -> float | None:
        return None if self._ahead is None else self.now() + self._ahead

    def listen(self, owner: str) -> BlockingInbox | ListeningInbox:
        sleeper = self._wire.sleeper()
        if sleeper is None:
            return BlockingInbox(self._wire.channel, self.now)
        return ListeningInbox(owner, sleeper, self.now)

    async def ask(self, command: Command[T], within: float, *, exactly: bool = False) -> T:
        asked_at = self.now()
        reply = self._wire.send(command.words, command.node, within)
        if reply.at is not None:
            self._ahead = reply.at - asked_at
        return command.read(reply.value)

    async def ask_all(
        self, commands: Sequence[Command[T]], within: float, enough: Callable[[Sequence[Outcome[T] | None]], bool]
    ) -> Sequence[Outcome[T] | None]:
        heard: SimpleQueue[tuple[int, Reply | StoreUnreachable]] = SimpleQueue()
        give_up_at = self.now() + within
        for position, command in enumerate(commands):
            self._wire.post(command.words, command.node, partial(_put, heard, position))
        outcomes: list[Outcome[T] | None] = [None] * len(commands)
        while None in outcomes and not enough(outcomes):
            try:
                position, outcome = heard.get(timeout=max(give_up_at - self.now(), 0.0))
            except Empty:
                break
            outcomes[position] = commands[position].read(outcome.value) if isinstance(outcome, Reply) else outcome
        return outcomes

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        # A thread stays a moment to see its farewell answered; what is not is the keeper's to repeat.
        try:
            reply = self._wire.send(command.words, command.node, A_MOMENT)
        except StoreUnreachable as silence:
            if undone is not None and isinstance(silence, StoreRefused):
                undone()
            return
        heard(command.read(reply.value))

    async def pause(self, duration: float) -> None:
        time.sleep(max(duration, 0.0))

    def _note_time(self, reply: Reply, asked_at: float) -> None:
        if reply.at is not None:
            self._ahead = reply.at - asked_at


class BlockingInbox:
    """Wake-ups that a thread waits for.

    Threads sleep by a clock that stands still while the machine does. One that must not oversleep looks up each `nap`.
    """

    def __init__(self, channel: str, now: Callable[[], float], *, nap: float = threading.TIMEOUT_MAX) -> None:
        self.channel, self._now, self._nap = channel, now, nap
        self._wakes: SimpleQueue[Wake] = SimpleQueue()

    def put(self, wake: Wake) -> None:
        self._wakes.put(wake)

    async def next(self, within: float) -> Wake | None:
        wakes_at = self._now() + within
        while True:
            left = max(wakes_at - self._now(), 0.0)
            try:
                return self._wakes.get(timeout=min(left, self._nap))
            except Empty:
                if left <= self._nap:
                    return None

    def is_empty(self) -> bool:
        """Whether nothing waits to be taken."""
        return self._wakes.empty()

    def ran_at(self) -> float:
        return self._now()  # a thread that waits here wakes when it is told to: it counts as running

    def arrived(self) -> Sequence[Wake]:
        wakes: list[Wake] = []
        while not self._wakes.empty():
            wakes.append(self._wakes.get())
        return wakes


class ListeningInbox:
    """Wake-ups that a thread listens for itself: nobody has to pass them on."""

    def __init__(self, owner: str, sleeper: Sleeper, now: Callable[[], float]) -> None:
        self.channel, self.ran_at = sleeper.channel, now  # as above
        self._owner, self._sleeper, self._now = owner, sleeper, now
        self._wakes: deque[Wake] = deque()

    def put(self, wake: Wake) -> None:
        self._wakes.append(wake)
        self._sleeper.wake()

    async def next(self, within: float) -> Wake | None:
        wakes_at = self._now() + within
        while not self._wakes and within > 0:
            if (handed := self._sleeper.sleep(self._owner, within)) is not None:
                return handed
            within = wakes_at - self._now()
        return self._wakes.popleft() if self._wakes else None

    def arrived(self) -> Sequence[Wake]:
        wakes = list(self._wakes)
        self._wakes.clear()
        return wakes


def _put(
    heard: SimpleQueue[tuple[int, Reply | StoreUnreachable]], position: int, outcome: Reply | StoreUnreachable
) -> None:
    heard.put((position, outcome))
