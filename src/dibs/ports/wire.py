"""What a store must bring to be talked to: one wire a colour, and a way to hear what it tells unasked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.model.asks import Push
    from dibs.model.guarantee import Guarantee
    from dibs.ports.store import Reply, Store
    from dibs.ports.world import Handed


class Ear(Protocol):
    """Who listens on this side. May be told from any thread."""

    def deliver(self, push: Push, asked_at: float) -> None:
        """A push came; `asked_at` is when the last command was asked that its connection had answered by then."""
        ...

    def ask_again(self) -> None:
        """A connection was made anew: pushes may have been missed."""
        ...


class Line(Protocol):
    """A line to one store, on which nothing blocks. It never sends anything twice."""

    channel: str
    """Where the store pushes what concerns us; pushes and replies come in the order they were made.

    The line listens there, and has the store's word for it, before it sends the first ask that names the channel.
    """

    def post(self, words: Sequence[Any], node: int, heard: Callable[[Reply | StoreUnreachable], None]) -> None:
        """Send at once, behind all that was sent before; `heard` is told what comes of it, if anything does.

        An event loop's line calls it on that loop, the line for threads on any thread.
        """
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Sleeper(Protocol):
    """How one thread waits for what its line is told, when it can listen for itself."""

    channel: str

    def sleep(self, owner: str, within: float) -> Handed | None:
        """Listen until something comes or time is up: what this owner is handed, and nothing if it was told the ear.

        Only for the thread it was made for.
        """
        ...

    def wake(self) -> None:
        """End the sleep. May be called from any thread."""
        ...


class Wire(Line, Protocol):
    """A line for threads: it can be waited on, too. Safe for many threads."""

    def sleeper(self) -> Sleeper | None:
        """The calling thread's own way to wait for pushes; `None` if somebody else listens and will tell it."""
        ...

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        """Send and wait for the reply; `StoreUnreachable` when there is none in time."""
        ...


class OwnClient(Protocol):
    """A client of the caller's own, for a store that other programs use, too: `redis.Redis` of either colour."""

    connection_pool: Any


class Backend(Protocol):
    """One store, as its URL names it. Opens nothing until a wire is used."""

    @property
    def server(self) -> str:
        """Its address as people may see it: without passwords."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""
        ...

    def locks(self, namespace: str) -> Store:
        """How it words questions about locks."""
        ...

    def blocking(self, ear: Ear, now: Callable[[], float]) -> Wire:
        """A line for threads; `now` is the clock that asking times are taken from."""
        ...

    def aio(self, ear: Ear, now: Callable[[], float]) -> Line:
        """A line for the running event loop."""
        ...
