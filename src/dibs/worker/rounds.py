"""The rounds of one worker: one at a time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.worker.session import DOING, Rules, Session

if TYPE_CHECKING:
    from collections.abc import Generator

    from dibs.runtime.detour import Way
    from dibs.worker.handlers import Handlers


class Rounds:
    """Which round a worker is in, or was in last. Whoever waits or loops has the worker for itself."""

    last: Session | None = None

    def __init__(self, rules: Rules, handlers: Handlers) -> None:
        self.rules, self.handlers, self._turns = rules, handlers, {"round"}

    def begin(self, *, is_aio: bool) -> Session:
        """Begin one, in a thread or a task."""
        engine, key = self.rules.engine, self.rules.wish.name
        aio = engine.aio(DOING) if is_aio else None
        world: Way = aio or engine.blocking(DOING)
        if aio is None:
            self.handlers.refuse_async("await worker.aacquire() instead, or use `async for`")
        try:
            self._turns.remove("round")
        except KeyError:
            raise ConfigError(
                f"this worker of {key!r} is in a round already: make another with d.worker() for each thread or task"
            ) from None
        self.last = Session(self.rules, self.handlers, world, None if aio is None else aio.body)
        return self.last

    def end(self) -> None:
        """It is over, or was left."""
        self._turns.add("round")

    @contextmanager
    def one(self, *, is_aio: bool = False) -> Generator[Session, None, None]:
        """One from its beginning to its end."""
        session = self.begin(is_aio=is_aio)
        try:
            yield session
        finally:
            self.end()
