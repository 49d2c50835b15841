"""A store that can be made silent at will, to see what a program does then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dibs.errors import StoreRefused, StoreUnreachable

if TYPE_CHECKING:
    from dibs.model.guarantee import Guarantee
    from dibs.ports.store import Reply, Store
    from dibs.ports.wire import Backend, Ear, Line, Wire

Trouble = Literal["none", "refused", "says no", "asks lost", "answers lost"]


class Outage:
    """Any backend, and what is wrong with the way to it at the moment.

    `refused`: every ask fails at once. `says no`: the same, and it is the store that says so. `asks lost`: none
    arrives. `answers lost`: each is carried out, and nobody hears of it.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.server = backend.server
        self.trouble: Trouble = "none"
        self.asks, self._asked = 0, threading.Condition()
        """How many asks have met trouble."""

    @property
    def guarantee(self) -> Guarantee:
        """What the store itself promises."""
        return self._backend.guarantee

    def asked(self) -> None:
        """Somebody asks something, and fails perhaps."""
        if self.trouble != "none":
            with self._asked:
                self.asks += 1
                self._asked.notify_all()

    def wait_for_asks(self, times: int) -> None:
        """Sleep until that many asks have met trouble."""
        with self._asked:
            self._asked.wait_for(lambda: self.asks >= times)

    def locks(self, namespace: str) -> Store:
        return self._backend.locks(namespace)

    def blocking(self, ear: Ear, now: Callable[[], float]) -> _TroubledWire:
        return _TroubledWire(self, self._backend.blocking(ear, now))

    def aio(self, ear: Ear, now: Callable[[], float]) -> _TroubledLine:
        return _TroubledLine(self, self._backend.aio(ear, now))


class _TroubledLine:
    def __init__(self, outage: Outage, line: Line) -> None:
        self._outage, self._line = outage, line
        self.channel = line.channel

    def post(self, words: Sequence[Any], node: int, heard: Callable[[Reply | StoreUnreachable], None]) -> None:
        self._outage.asked()
        match self._outage.trouble:
            case "none":
                self._line.post(words, node, heard)
            case "refused":
                heard(StoreRefused(self._outage.server, after=0.0, why="refused"))
            case "says no":
                heard(StoreRefused(self._outage.server, after=0.0, why="it says no", is_outage=False))
            case "answers lost":
                self._line.post(words, node, lambda _: None)
            case "asks lost":
                pass

    def close(self) -> None:
        self._line.close()


class _TroubledWire(_TroubledLine):
    def __init__(self, outage: Outage, wire: Wire) -> None:
        super().__init__(outage, wire)
        self.sleeper = wire.sleeper

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        heard, outcomes = threading.Event(), list["Reply | StoreUnreachable"]()

        def note(outcome: Reply | StoreUnreachable) -> None:
            outcomes.append(outcome)
            heard.set()

        self.post(words, node, note)
        if not heard.wait(within):
            raise StoreUnreachable(self._outage.server, after=within)
        [outcome] = outcomes
        if isinstance(outcome, StoreUnreachable):
            raise outcome
        return outcome
