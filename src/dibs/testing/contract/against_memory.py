"""A store against the specification: whatever is asked of it, it answers as the memory store's table does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from dibs.errors import StoreUnreachable
from dibs.model.asks import Acquire, Ask, Busy, Evict, Granted, KeepAlive, Leave, Push, Queued, Renew, StillQueued
from dibs.ports.store import Command, Reply
from dibs.stores.direct import DirectLocks
from dibs.stores.memory.server import MemoryServer

if TYPE_CHECKING:
    from dibs.ports.store import LockStore
    from dibs.ports.wire import Backend, Line

T = TypeVar("T")

OWNERS = st.sampled_from(["o1", "o2", "o3", "o4"])
NAMES = st.sampled_from(["a", "b"])
SHORT_AND_LONG = (10.0, 20.0)
TTLS = st.sampled_from(SHORT_AND_LONG)

PATIENCE = 5.0

MakeBackend = Callable[[Callable[[], float]], "Backend"]


class _Ear:
    """Collects what a store tells unasked."""

    def __init__(self) -> None:
        self.pushes: list[Push] = []
        self.told = threading.Condition()
        self.tell: Callable[[], object] = lambda: None

    def deliver(self, push: Push, asked_at: float) -> None:
        with self.told:
            self.pushes.append(push)
            self.told.notify_all()
        self.tell()

    def ask_again(self) -> None:
        """Nothing is ever missed here."""


class _BlockingLine:
    """A thread's way to the store."""

    def __init__(self, backend: Backend, ear: _Ear) -> None:
        self._wire, self._ear = backend.blocking(ear, time.monotonic), ear
        self.channel, self.close = self._wire.channel, self._wire.close

    def value(self, command: Command[Any]) -> Any:
        """What the store answers."""
        return self._wire.send(command.words, command.node, PATIENCE).value

    def hear(self, pushes: int) -> None:
        """Wait until so many things were told."""
        with self._ear.told:
            self._ear.told.wait_for(lambda: len(self._ear.pushes) >= pushes, PATIENCE)


class _AsyncLine:
    """An event loop's way to the store."""

    def __init__(self, backend: Backend, ear: _Ear) -> None:
        self._loop = asyncio.new_event_loop()
        self._line = self._loop.run_until_complete(self._opened(backend, ear))
        self.channel, self._ear = self._line.channel, ear

    def value(self, command: Command[Any]) -> Any:
        """What the store answers."""
        return self._loop.run_until_complete(asyncio.wait_for(self._answer(command), PATIENCE))

    def hear(self, pushes: int) -> None:
        """Wait until so many things were told."""
        with suppress(TimeoutError):
            while len(self._ear.pushes) < pushes:
                self._loop.run_until_complete(asyncio.wait_for(self._next_push(), PATIENCE))

    def close(self) -> None:
        """Hang up."""
        self._loop.run_until_complete(self._closed())
        self._loop.close()

    async def _opened(self, backend: Backend, ear: _Ear) -> Line:
        return backend.aio(ear, time.monotonic)

    async def _closed(self) -> None:
        self._line.close()
        await asyncio.sleep(0)  # what it leaves to the loop is done

    async def _next_push(self) -> None:
        told = asyncio.Event()
        self._ear.tell = partial(asyncio.get_running_loop().call_soon_threadsafe, told.set)
        await told.wait()

    async def _answer(self, command: Command[Any]) -> Any:
        heard: asyncio.Future[Reply | StoreUnreachable] = asyncio.get_running_loop().create_future()
        self._line.post(command.words, command.node, heard.set_result)
        outcome = await heard
        if isinstance(outcome, StoreUnreachable):
            raise outcome
        return outcome.value


LINES: dict[str, Callable[[Backend, _Ear], _BlockingLine | _AsyncLine]] = {
    "blocking": _BlockingLine,
    "asyncio": _AsyncLine,
}


class StoreAgainstMemory(RuleBasedStateMachine):
    """Asks both the same, at the same moments, and compares answers and pushes.

    Fences are compared by their order, times only as far as they were asked for: a store's clock is its own.
    """

    make_backend: MakeBackend
    make_line: Callable[[Backend, _Ear], _BlockingLine | _AsyncLine]
    can_advance = True

    def __init__(self) -> None:
        super().__init__()
        self._now = 1_000_000.0
        self._ear = _Ear()
        backend = type(self).make_backend(lambda: self._now)
        self._line = type(self).make_line(backend, self._ear)
        self._locks = backend.locks("n")
        self._look_at_the_clock()
        self._spec, self._spec_locks = MemoryServer(), DirectLocks("n")
        self._spec_pushes: list[Push] = []
        self._fences: list[tuple[int, int]] = []

    @rule(name=NAMES, owner=OWNERS, ttl=TTLS, queue=st.booleans(), hears=st.booleans(), late=st.booleans())
    def acquire(self, name: str, owner: str, ttl: float, *, queue: bool, hears: bool, late: bool) -> None:
        """Ask for a lock: with or without a place in the queue, reachable or not, in time or too late."""
        self._look_at_the_clock()
        not_after = self._now + (-1 if late else ttl)
        channel = self._line.channel if hears else "nobody"
        self._both(name, Acquire(owner, ttl, not_after, channel, f"who-{owner}", f"why-{owner}", queue=queue))

    @rule(name=NAMES, owner=OWNERS, ttl=TTLS)
    def keep_alive(self, name: str, owner: str, ttl: float) -> None:
        """Say that somebody still waits, whether or not it does."""
        self._both(name, KeepAlive(owner, ttl))

    @rule(name=NAMES, owner=OWNERS, ttl=TTLS, which=st.integers(0, 5))
    def renew(self, name: str, owner: str, ttl: float, which: int) -> None:
        """Renew with a fence that was granted to somebody at some time."""
        mine, theirs = self._fence(which)
        self._both(name, Renew(owner, mine, ttl), Renew(owner, theirs, ttl))

    @rule(name=NAMES, owner=OWNERS, bars=st.booleans())
    def leave(self, name: str, owner: str, *, bars: bool) -> None:
        """Leave, with or without an ask that may still land."""
        self._look_at_the_clock()
        self._both(name, Leave(owner, self._now + 5 if bars else None))

    @rule(name=NAMES, which=st.integers(0, 5))
    def evict(self, name: str, which: int) -> None:
        """Take a lock from whoever has a fence that was seen at some time."""
        mine, theirs = self._fence(which)
        self._both(name, Evict(mine), Evict(theirs))

    @precondition(lambda self: self.can_advance)
    @rule(duration=st.sampled_from([0.5, 6.0, 10.0, 25.0]))
    def let_time_pass(self, duration: float) -> None:
        """Tickets, leases and bars run out."""
        self._now += duration

    @rule(name=NAMES)
    def inspect(self, name: str) -> None:
        """Both show the same."""
        seen, spec = self._ask(self._locks.inspect(name)), self._ask_spec(self._spec_locks.inspect(name))
        assert (seen.state, [waiter.who for waiter in seen.waiters]) == (
            spec.state,
            [waiter.who for waiter in spec.waiters],
        )
        assert (seen.held is None) == (spec.held is None)
        assert seen.held is None or (seen.held.who, seen.held.purpose) == (spec.held.who, spec.held.purpose)
        listed = [view.name for view in self._ask(self._locks.held("", 10))]
        assert listed == [view.name for view in self._ask_spec(self._spec_locks.held("", 10))]

    def _both(self, name: str, ask: Ask, spec_ask: Ask | None = None) -> None:
        answer = self._ask(_command(self._locks, name, ask))
        spec = self._ask_spec(_command(self._spec_locks, name, spec_ask or ask))
        assert _shape(answer) == _shape(spec)
        if isinstance(answer, Granted):
            self._pair(answer.fence, spec.fence)
        if isinstance(answer, Queued | StillQueued):  # a store may have a waiter ask sooner, if not for nothing
            assert min(spec.ask_again_in, *SHORT_AND_LONG) - 0.1 <= answer.ask_again_in <= spec.ask_again_in + 0.1
        theirs = [push for push in self._spec_pushes if push.channel == self._line.channel]
        self._line.hear(len(theirs))
        mine = self._ear.pushes
        assert [(push.owner, push.kind) for push in mine] == [(push.owner, push.kind) for push in theirs]
        for push, spec_push in zip(mine, theirs, strict=True):
            self._pair(push.fence, spec_push.fence)
        self._ear.pushes, self._spec_pushes = [], []

    def _look_at_the_clock(self) -> None:
        """Where the store has a clock of its own, the specification is asked by that one."""
        if not self.can_advance:
            self._now = self._ask(self._locks.time())

    def _pair(self, fence: int, spec_fence: int) -> None:
        """The same grant on both sides; and fences on both sides have the same order."""
        if (fence, spec_fence) not in self._fences:
            assert all(fence > earlier for earlier, _ in self._fences)
            self._fences.append((fence, spec_fence))

    def _fence(self, which: int) -> tuple[int, int]:
        return self._fences[-1 - which] if which < len(self._fences) else (1, 1)

    def _ask(self, command: Command[Any]) -> Any:
        return command.read(self._line.value(command))

    def _ask_spec(self, command: Command[Any]) -> Any:
        answer, pushes = self._spec.execute(command.words, self._now, lambda channel: channel == self._line.channel)
        self._spec_pushes.extend(pushes)
        return command.read(answer)

    def teardown(self) -> None:
        """Hang up."""
        self._line.close()


def store_against_memory(
    make_backend: MakeBackend,
    *,
    colour: Literal["blocking", "asyncio"] = "blocking",
    can_advance: bool = True,
    examples: int = 100,
    steps: int = 40,
) -> Any:
    """A test case that runs a store against the specification, over the line of one colour.

    `make_backend` is given a clock that the test steps. A store that has no use for it sets `can_advance=False`;
    expiry is then left to the tests that wait for it.
    """

    class ThisStoreAgainstMemory(StoreAgainstMemory):
        pass

    ThisStoreAgainstMemory.make_backend = staticmethod(make_backend)
    ThisStoreAgainstMemory.make_line = LINES[colour]
    ThisStoreAgainstMemory.can_advance = can_advance
    case = ThisStoreAgainstMemory.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    return case


def _command(locks: LockStore, name: str, ask: Ask) -> Command[Any]:
    match ask:
        case Acquire():
            return locks.acquire(name, ask)
        case KeepAlive() | Renew():
            return _only(locks.keep([(name, ask)]))
        case Leave():
            return locks.leave(name, ask)
        case Evict(fence):
            return locks.evict(name, fence)


def _only(batch: Command[Sequence[T]]) -> Command[T]:
    """The command of a batch of one, read as that one's answer."""

    def read(reply: object) -> T:
        [answer] = batch.read(reply)
        return answer

    return Command(batch.words, read, batch.node)


def _shape(answer: object) -> object:
    """An answer without what a store's own clock decides."""
    match answer:
        case Granted():
            return Granted
        case Queued(position, _, held):
            return Queued, position, held.who
        case StillQueued():
            return StillQueued
        case Busy(held, waiters):
            return Busy, held.who, waiters
        case _:
            return answer
