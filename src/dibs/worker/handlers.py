"""Who is told what by a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any, Literal, TypeAlias

from dibs.errors import ConfigError
from dibs.model.function import Function, is_async
from dibs.model.rounds import StatusLevel

Happening: TypeAlias = Literal["acquired", "locked", "error", "status", "max-attempts"]

TAKES: Mapping[str, str] = {
    "acquired": "whether this is the last attempt",
    "locked": "nothing",
    "error": "the error",
    "status": "the message",
    "max-attempts": "nothing",
}


class Handlers:
    """The functions that were given for each event, in the order in which they are called."""

    def __init__(self, level: StatusLevel) -> None:
        self.level = level
        self._all: dict[str, list[Callable[..., object]]] = {name: [] for name in TAKES}

    def refuse_unknown(self, happening: object) -> None:
        """Refuse what a worker does not tell of."""
        if not (isinstance(happening, str) and happening in TAKES):
            known = ", ".join(map(repr, TAKES))
            raise ConfigError(f"no such event of a worker: {happening!r}; there are {known}")

    def add(self, happening: str, handler: Callable[..., object]) -> None:
        """Have this called, too."""
        if not callable(handler):
            raise ConfigError(f"{happening!r}: give a function that takes {TAKES[happening]}, not {handler!r}")
        self._all[happening].append(handler)

    def refuse_idle(self, key: str) -> None:
        """Refuse to wait for a lock under which nothing would be done."""
        if not self._all["acquired"]:
            raise ConfigError(
                f"the worker of {key!r} has nothing to do: give it a function with @worker.on_acquired, "
                "or loop over worker.attempts()"
            )

    def refuse_async(self, instead: str) -> None:
        """Refuse handlers that nobody would await."""
        for happening, handlers in self._all.items():
            for handler in handlers:
                if is_async(handler):
                    raise ConfigError(f"the handler of {happening!r} is async, {Function.of(handler)}: {instead}")

    async def acquired(self, *, last_attempt: bool) -> None:
        """It is this worker's turn."""
        await self._call("acquired", last_attempt)

    async def locked(self) -> None:
        """Another one has the lock."""
        await self._call("locked")

    async def status(self, level: StatusLevel, message: str) -> None:
        """Something has happened on the way."""
        if level <= self.level:
            await self._call("status", message)

    async def error(self, error: Exception) -> None:
        """Something went wrong; if nobody wants to be told, whoever waits is."""
        if not self._all["error"]:
            raise error
        await self._call("error", error)

    async def max_attempts(self) -> None:
        """All attempts were made, and the work is not done."""
        await self._call("max-attempts")

    async def _call(self, happening: Happening, *args: Any) -> None:
        for handler in list(self._all[happening]):
            result = handler(*args)
            if isawaitable(result):
                await result
