"""What people give their handlers to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from dibs.closing import Closing
from dibs.errors import ConfigError
from dibs.runtime.blocking import run
from dibs.worker.handlers import Handlers
from dibs.worker.loop import Attempts
from dibs.worker.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.rounds import Finish, StatusLevel
    from dibs.runtime.engine import Engine
    from dibs.worker.attempt import Attempt
    from dibs.worker.session import Rules

T = TypeVar("T")
"""What a handler gives: something to await, or nothing that anybody looks at."""


class Worker(Closing):
    """One of many that stand ready for the same work. It is in one round at a time; make another for another thread."""

    def __init__(self, rules: Rules, *, level: StatusLevel, owned: Engine | None = None) -> None:
        self._rules, self._handlers, self._owned = rules, Handlers(level), owned
        self._rounds = Rounds(rules, self._handlers)

    @property
    def key(self) -> str:
        """The name of the lock."""
        return self._rules.wish.name

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that is ours, or was the last to be."""
        return None if self._rounds.last is None else self._rounds.last.attempt

    @property
    def finish(self) -> Finish | None:
        """How the last round ended: "done" by us, "completed" by another, or "max-attempts"; `None` before."""
        return None if self._rounds.last is None else self._rounds.last.finish

    @overload
    def on(self, event: Literal["acquired"]) -> Callable[[Callable[[bool], T]], Callable[[bool], T]]: ...
    @overload
    def on(self, event: Literal["locked", "max-attempts"]) -> Callable[[Callable[[], T]], Callable[[], T]]: ...
    @overload
    def on(self, event: Literal["error"]) -> Callable[[Callable[[Exception], T]], Callable[[Exception], T]]: ...
    @overload
    def on(self, event: Literal["status"]) -> Callable[[Callable[[str], T]], Callable[[str], T]]: ...
    def on(self, event: str) -> Callable[[Any], Any]:
        """Have a function called at this event: `@worker.on("acquired")`. Of several, each is, in their order."""

        def add(handler: Any) -> Any:
            self._handlers.add(event, handler)
            return handler

        self._handlers.refuse_unknown(event)
        return add

    def on_acquired(self, handler: Callable[[bool], T]) -> Callable[[bool], T]:
        """Have it called when it is our turn to try; it is told whether this is the last attempt."""
        return self.on("acquired")(handler)

    def on_locked(self, handler: Callable[[], T]) -> Callable[[], T]:
        """Have it called when another one has the lock, once a round: then we watch."""
        return self.on("locked")(handler)

    def on_error(self, handler: Callable[[Exception], T]) -> Callable[[Exception], T]:
        """Have it called with what goes wrong. Without such a handler `acquire()` raises it."""
        return self.on("error")(handler)

    def on_status(self, handler: Callable[[str], T]) -> Callable[[str], T]:
        """Have it called with what happens on the way, in words."""
        return self.on("status")(handler)

    def on_max_attempts(self, handler: Callable[[], T]) -> Callable[[], T]:
        """Have it called when all attempts were made, by anybody, and the work is not done."""
        return self.on("max-attempts")(handler)

    def acquire(self) -> Finish:
        """Stand ready until the work is done, by us or another, or given up. An attempt of ours calls the handlers.

        In a task they may be `async def`; one of these is cancelled when its lease is lost.
        """
        self._handlers.refuse_idle(self.key)
        with self._rounds.one() as session:
            return run(session.work())

    async def aacquire(self) -> Finish:
        """Stand ready until the work is done, by us or another, or given up. An attempt of ours calls the handlers.

        In a task they may be `async def`; one of these is cancelled when its lease is lost.
        """
        self._handlers.refuse_idle(self.key)
        with self._rounds.one(is_aio=True) as session:
            return await session.work()

    def attempts(self) -> Attempts:
        """The same as a loop: `for attempt in worker.attempts()`, or `async for`. Its body says `attempt.done()`."""
        return Attempts(self._rounds)

    def done(self) -> None:
        """The work is done. Said by the handler, or later by anybody if it has said `defer()`."""
        self._current("done()").done()

    def fail(self, reason: str = "") -> None:
        """The work was not done; the next one tries at once."""
        self._current("fail()").fail(reason)

    def defer(self) -> Attempt:
        """The handler will end before the work does: `done()` or `fail()` comes later, also from another thread."""
        return self._current("defer()").defer()

    def close(self) -> None:
        """Hang up, if the worker has a client of its own; else its client does that."""
        if self._owned is not None:
            self._owned.close()

    async def aclose(self) -> None:
        """Hang up, if the worker has a client of its own; else its client does that."""
        if self._owned is not None:
            await self._owned.aclose()

    def __repr__(self) -> str:
        return f"<Worker {self.key!r} max_attempts={self._rules.max_attempts} {self.attempt or 'idle'}>"

    def _current(self, said: str) -> Attempt:
        if (attempt := self.attempt) is None:
            raise ConfigError(f"{said}: no attempt of {self.key!r} is under way; say it in the handler of 'acquired'")
        return attempt
