"""The line to a memory store: a mutex, a clock that is never set, and direct calls for pushes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from dibs.errors import ConfigError, StoreRefused, StoreUnreachable
from dibs.model.guarantee import Guarantee
from dibs.model.names import name_fault
from dibs.ports.store import Reply
from dibs.stores.direct import DirectLocks
from dibs.stores.memory.server import MemoryServer

if TYPE_CHECKING:
    from dibs.model.asks import Push
    from dibs.ports.wire import Ear

GUARANTEE = Guarantee(
    level="fenced",
    scope="among the threads and tasks of this one process",
    clocks="one monotonic clock, shared by store and holders",
    durability="none needed: locks and holders end together with the process",
    across_machines=False,
)


class MemoryBackend:
    """One memory store and its lines."""

    guarantee = GUARANTEE

    def __init__(self, server: str = "memory://", *, clock: Callable[[], float] | None = None) -> None:
        self.server = server
        self._locks = MemoryServer()
        self._clock = clock or _steady_clock()
        self._lines: dict[str, MemoryWire] = {}
        self._numbers = count(1)
        self._mutex, self._busy_with = threading.Lock(), 0

    def locks(self, namespace: str) -> DirectLocks:
        return DirectLocks(namespace)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> MemoryWire:
        return MemoryWire(self, ear, now, f"line-{next(self._numbers)}")

    def aio(self, ear: Ear, now: Callable[[], float]) -> MemoryWire:
        return self.blocking(ear, now)

    def execute(self, words: Sequence[Any], line: MemoryWire) -> Reply:
        """Carry out one command; whoever is to be told of something is told before it is answered."""
        asked_at, me = line.now(), threading.get_ident()
        if self._busy_with == me:  # a signal's handler asks while its own thread is in here
            raise StoreUnreachable(self.server, after=0.0, why="this thread is in the middle of an ask")
        with self._mutex:
            try:
                self._busy_with = me
                line.answered_at = max(line.answered_at, asked_at)
                reply, told = self._carry_out(words, line)
            finally:
                self._busy_with = 0
        for push, reached, answered_at in told:
            reached.ear.deliver(push, answered_at)
        return reply

    def _carry_out(self, words: Sequence[Any], line: MemoryWire) -> tuple[Reply, list[tuple[Push, MemoryWire, float]]]:
        self._lines[line.channel] = line
        at = self._clock()
        value, pushes = self._locks.execute(words, at, self._lines.__contains__)
        reached = [(push, self._lines[push.channel]) for push in pushes if push.channel in self._lines]
        return Reply(value, at), [(push, wire, wire.answered_at) for push, wire in reached]

    def hang_up(self, line: MemoryWire) -> None:
        """Nobody listens on this line any more."""
        with self._mutex:
            self._lines.pop(line.channel, None)

    def start_over_after_fork(self) -> None:
        """In a forked child: the mutex may have been held by a thread that was not copied."""
        self._mutex, self._busy_with = threading.Lock(), 0
        self._lines = {}


class MemoryWire:
    """One client's line, for threads and loops alike: an answer is there before the call returns."""

    def __init__(self, backend: MemoryBackend, ear: Ear, now: Callable[[], float], channel: str) -> None:
        self.ear, self.now, self.channel = ear, now, channel
        self.answered_at = float("-inf")
        self._backend, self._is_open = backend, True

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        if not self._is_open:
            raise StoreRefused.hung_up(self._backend.server)
        return self._backend.execute(words, self)

    def post(self, words: Sequence[Any], node: int, heard: Callable[[Reply | StoreUnreachable], None]) -> None:
        try:
            outcome: Reply | StoreUnreachable = self.send(words, node, 0.0)
        except StoreUnreachable as error:
            outcome = error
        heard(outcome)

    def sleeper(self) -> None:
        return None

    def close(self) -> None:
        self._is_open = False
        self._backend.hang_up(self)


def _steady_clock() -> Callable[[], float]:
    """Epoch seconds from here on, whatever is done to the machine's clock."""
    epoch = time.time() - time.monotonic()
    return lambda: epoch + time.monotonic()


_open: WeakValueDictionary[str, MemoryBackend] = WeakValueDictionary()
_opening = threading.Lock()


def open_store(url: str) -> MemoryBackend:
    """The memory store of that name, which all clients of this process share."""
    name = url.partition("://")[2]
    if name and (fault := name_fault(name, what="a memory store's name")):
        raise ConfigError(f"{url!r} names no memory store: {fault}")
    with _opening:
        backend = _open.get(name)
        if backend is None:
            backend = _open[name] = MemoryBackend(f"memory://{name}")
        return backend


def _after_fork_in_child() -> None:
    global _opening  # noqa: PLW0603 - the parent's may be held by a thread that was not copied
    _opening = threading.Lock()
    for backend in list(_open.values()):
        backend.start_over_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
