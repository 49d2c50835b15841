"""The only door out of the flows. A blocking, an asyncio and a simulated world stand behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from dibs.errors import StoreUnreachable
from dibs.model.asks import StillQueued
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.ports.store import Command

T = TypeVar("T")

Outcome: TypeAlias = T | StoreUnreachable
"""What became of one of several commands."""


@value
class Handed:
    """The lock is ours. `asked_at`: the latest moment of our own clock that was surely before the grant."""

    fence: int
    asked_at: float


@value
class Taken:
    """The grant with this fence was taken back."""

    fence: int


@value
class AskAgain:
    """Something broke that may have cost us a message: our ticket is gone, or a connection was made anew."""


Wake = Handed | Taken | StillQueued | AskAgain


class Inbox(Protocol):
    """Where wake-ups for one owner arrive; it keeps those that come before anybody waits."""

    channel: str

    def put(self, wake: Wake) -> None:
        """Leave a wake-up here. May be called from any thread."""
        ...

    async def next(self, within: float) -> Wake | None:
        """The oldest wake-up, or `None` when time is up."""
        ...

    def arrived(self) -> Sequence[Wake]:
        """All wake-ups that are here already."""
        ...

    def ran_at(self) -> float:
        """When the loop or thread that waits here is last known to have run."""
        ...


class World(Protocol):
    """Time, chance and messages, as the flows see them."""

    def now(self) -> float:
        """Seconds of our own clock; it goes on while the machine sleeps, and is never set."""
        ...

    def store_time(self) -> float | None:
        """The latest that the store's clock can say now; `None` before its first answer."""
        ...

    def token(self) -> str:
        """A name that nobody else has."""
        ...

    def listen(self, owner: str) -> Inbox:
        """An inbox for one who is about to ask under this name."""
        ...

    def ask(self, command: Command[T], within: float, *, exactly: bool = False) -> Awaitable[T]:
        """Send once and wait for the answer; `StoreUnreachable` when there is none in time.

        Unless it has to be `exactly`, it may be longer while the store answers others: then it is not silent, but busy.
        """
        ...

    async def ask_all(
        self, commands: Sequence[Command[T]], within: float, enough: Callable[[Sequence[Outcome[T] | None]], bool]
    ) -> Sequence[Outcome[T] | None]:
        """Send all at once; give what is known as soon as it is enough, `None` for those still out."""
        ...

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        """Send behind all that was asked before, without waiting; `heard` is told the answer if one comes.

        `undone` is told if it surely was not done, and nobody has tried again.
        """
        ...

    async def pause(self, duration: float) -> None:
        """Let time pass."""
        ...
