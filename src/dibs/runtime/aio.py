"""The world of one event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import LeaseLost, StoreRefused, StoreUnreachable
from dibs.model.request import PATIENCE
from dibs.runtime.blocking import new_token
from dibs.runtime.prompt import Prompt

if TYPE_CHECKING:
    from dibs.ports.store import Command, Reply
    from dibs.ports.wire import Line
    from dibs.ports.world import Outcome, Wake

T = TypeVar("T")

USUAL = PATIENCE * 0.99
"""An ask that may take this long or longer is one of many."""
LONGEST_CROWD = 10.0
"""How much longer it may take while others are answered."""


class AsyncWorld:
    """Tasks, a wire that calls back, and inboxes that tasks await."""

    def __init__(self, wire: Line, now: Callable[[], float], server: str) -> None:
        self.now, self.token = now, new_token
        self.loop = asyncio.get_running_loop()
        self._wire, self._server = wire, server
        self._silence = _Silence(self.loop, now, server)
        self._ahead: float | None = None
        self._ran_at = now()

    def body(self) -> Body:
        """The block that the running task is about to enter."""
        return Body(asyncio.current_task(self.loop))

    def store_time(self) -> float | None:
        return None if self._ahead is None else self.now() + self._ahead

    def listen(self, owner: str) -> AsyncInbox:
        return AsyncInbox(self, self._wire.channel)

    def ask(self, command: Command[T], within: float, *, exactly: bool = False) -> asyncio.Future[T]:
        asked_at = self._ran_at = self.now()
        future: asyncio.Future[T] = Prompt(loop=self.loop)
        self._wire.post(command.words, command.node, partial(self._heard, command.read, asked_at, future))
        if future.done():
            return future
        if USUAL <= within <= PATIENCE and not exactly:
            silence = self._silence
            silence.asks[future] = asked_at
            if silence.is_unwatched:
                silence.watch()
        elif within < inf:
            give_up = self.loop.call_later(within, _fail, future, StoreUnreachable(self._server, after=within))
            future.add_done_callback(lambda _: give_up.cancel())
        return future

    async def ask_all(
        self, commands: Sequence[Command[T]], within: float, enough: Callable[[Sequence[Outcome[T] | None]], bool]
    ) -> Sequence[Outcome[T] | None]:
        known: Callable[[asyncio.Future[T]], Outcome[T] | None] = _known
        futures = [self.ask(command, inf) for command in commands]
        give_up_at = self.now() + within
        while True:
            outcomes = [known(future) for future in futures]
            open_ones = [future for future in futures if not future.done()]
            left = give_up_at - self.now()
            if enough(outcomes) or not open_ones or left <= 0:
                return outcomes
            await asyncio.wait(open_ones, timeout=left, return_when=asyncio.FIRST_COMPLETED)

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        def answered(future: asyncio.Future[T]) -> None:
            if (error := future.exception()) is None:
                heard(future.result())
            elif undone is not None and isinstance(error, StoreRefused):
                undone()

        future = self.ask(command, inf)
        if future.done():
            answered(future)
        else:
            future.add_done_callback(answered)

    async def pause(self, duration: float) -> None:
        await asyncio.sleep(max(duration, 0.0))

    def ran_at(self) -> float:
        """When the loop last ran, as far as is known; and a ping, to know more next time."""
        with suppress(RuntimeError):  # a closed loop runs no more
            self.loop.call_soon_threadsafe(self._beat)
        return self._ran_at

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def _beat(self) -> None:
        self._ran_at = self.now()

    def _heard(
        self,
        read: Callable[[Any], T],
        asked_at: float,
        future: asyncio.Future[T],
        outcome: Reply | StoreUnreachable,
    ) -> None:
        """An answer that comes when its asker has given up is only looked at for the store's time."""
        silence = self._silence
        silence.asks.pop(future, None)
        if isinstance(outcome, StoreUnreachable):
            _fail(future, outcome)
            return
        silence.broken_at = self.now()
        if (at := outcome.at) is not None:
            self._ahead = at - asked_at
        if future.done():
            return
        try:
            answer = read(outcome.value)
        except Exception as error:  # noqa: BLE001 - a reply nobody can read is its asker's trouble, not the wire's
            future.set_exception(error)
        else:
            future.set_result(answer)


class _Silence:
    """Ends the asks that nobody answers. Nearly all have the same time for it, so one timer will do for them.

    A store that answers others meanwhile is not silent: it is we who have asked more than we can hear at once.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float], server: str) -> None:
        self._loop, self._now, self._server = loop, now, server
        self.asks: dict[asyncio.Future[Any], float] = {}
        """When each was asked that is not answered yet, the oldest first."""
        self.broken_at, self.is_unwatched = -inf, True

    def watch(self, within: float = PATIENCE) -> None:
        """Look then what is still not answered."""
        self.is_unwatched = False
        self._loop.call_later(within, self._look)

    def _look(self) -> None:
        self.is_unwatched, now = True, self._now()
        for future, asked_at in list(self.asks.items()):
            ends_at = min(max(asked_at, self.broken_at), asked_at + LONGEST_CROWD) + PATIENCE
            if ends_at > now:
                self.watch(ends_at - now)
                return
            del self.asks[future]
            _fail(future, StoreUnreachable(self._server, after=PATIENCE))


class AsyncInbox:
    """Wake-ups that a task awaits."""

    __slots__ = ("__weakref__", "_waiter", "_wakes", "_world", "channel")

    def __init__(self, world: AsyncWorld, channel: str) -> None:
        self.channel, self._world = channel, world
        self._wakes: deque[Wake] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, wake: Wake) -> None:
        self._wakes.append(wake)
        loop = self._world.loop
        if asyncio._get_running_loop() is loop:  # noqa: SLF001 - it is documented, and cheap
            self._ring()
            return
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(self._ring)

    async def next(self, within: float) -> Wake | None:
        if not self._wakes and within > 0:
            loop = self._world.loop
            self._waiter = Prompt(loop=loop)
            timer = None if within == inf else loop.call_later(within, self._ring)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        return self._wakes.popleft() if self._wakes else None

    def arrived(self) -> Sequence[Wake]:
        if not self._wakes:
            return ()
        wakes, self._wakes = self._wakes, deque()
        return wakes

    def ran_at(self) -> float:
        return self._world.ran_at()

    def _ring(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Body:
    """An async block that is cancelled when its lease is lost: once, and taken back when it leaves."""

    __slots__ = ("_cancelled_for", "_cancels_before", "_is_open", "task")

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        self.task = task
        self._cancels_before = 0 if task is None else task.cancelling()
        self._is_open = True
        self._cancelled_for: LeaseLost | None = None

    def stop(self, loss: LeaseLost) -> None:
        """The lease is lost. May be called from any thread."""
        if self.task is not None:
            with suppress(RuntimeError):  # the loop was closed: nothing runs in it
                self.task.get_loop().call_soon_threadsafe(self._cancel, loss)

    def leave(self, error: BaseException | None) -> LeaseLost | None:
        """The block is over; gives the loss if it ended by our cancel and by nobody else's."""
        self._is_open = False
        if self.task is None or self._cancelled_for is None:
            return None
        alone = self.task.uncancel() <= self._cancels_before
        return self._cancelled_for if alone and isinstance(error, asyncio.CancelledError) else None

    def _cancel(self, loss: LeaseLost) -> None:
        if self._is_open and self.task is not None and self._cancelled_for is None:  # once, of several
            self._cancelled_for = loss
            self.task.cancel(str(loss))


def _fail(future: asyncio.Future[T], error: StoreUnreachable) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # an asker that has given up will not look: that is no fault to report


def _known(future: asyncio.Future[T]) -> Outcome[T] | None:
    if not future.done():
        return None
    try:
        return future.result()
    except StoreUnreachable as error:
        return error
