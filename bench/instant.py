"""A store that is no store: it says yes at once. What is left of a cycle then is our own side of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from dibs.model.asks import Granted, Recalled, Said
from dibs.model.guarantee import Guarantee
from dibs.model.sheet import Look
from dibs.ports.store import Command, Reply

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.ports.wire import Ear


class InstantBackend:
    """Every line is another that answers at once."""

    server = "instant://"
    guarantee = Guarantee(level="none", scope="nobody", clocks="none", durability="none")

    def locks(self, namespace: str) -> InstantLocks:
        return InstantLocks()

    def blocking(self, ear: Ear, now: Callable[[], float]) -> InstantWire:
        return InstantWire()

    def aio(self, ear: Ear, now: Callable[[], float]) -> InstantWire:
        return InstantWire()


class InstantWire:
    """Each question carries its answer, so all there is to do is to give it back."""

    channel = "instant"

    def send(self, words: Sequence[Any], node: int, within: float) -> Reply:
        return Reply(words[0], time.monotonic())

    def post(self, words: Sequence[Any], node: int, heard: Callable[[Reply | StoreUnreachable], None]) -> None:
        heard(self.send(words, node, 0.0))

    def sleeper(self) -> None:
        """Nobody ever waits here."""

    def close(self) -> None:
        """Nothing was opened."""


class InstantLocks:
    """Words each question as the answer that pleases."""

    def __init__(self) -> None:
        self._fences = count(1)

    def time(self) -> Command[Any]:
        return _answered_by(time.monotonic())

    def checkup(self) -> Command[Any]:
        return _answered_by([])

    def acquire(self, name: str, ask: object) -> Command[Any]:
        return _answered_by(Granted(next(self._fences)))

    def acquire_all(self, asks: Sequence[object]) -> Command[Any]:
        return _answered_by([Granted(next(self._fences)) for _ in asks])

    def keep(self, asks: Sequence[object]) -> Command[Any]:
        return _answered_by([Said.KEPT for _ in asks])

    def leave(self, name: str, ask: object) -> Command[Any]:
        return _answered_by(Said.RELEASED)

    def evict(self, name: str, fence: int) -> Command[Any]:
        return _answered_by(Said.GONE)

    def inspect(self, name: str) -> Command[Any]:
        raise NotImplementedError("nobody looks at what is not there")

    def held(self, prefix: str, limit: int) -> Command[Any]:
        return _answered_by([])

    def recall(self, name: str) -> Command[Any]:
        return _answered_by(Recalled(time.time()))

    def count(self, counts: Sequence[object]) -> Command[Any]:
        return _answered_by(None)

    def counted(self) -> Command[Any]:
        return _answered_by([])

    def due(self, skip: int, limit: int, by: float | None = None) -> Command[Any]:
        return _answered_by(Look(time.time(), "", []))

    def sheets(self, names: Sequence[str]) -> Command[Any]:
        return _answered_by(Look(time.time(), "", []))

    def amend(self, changes: Sequence[object]) -> Command[Any]:
        return _answered_by([next(self._fences) for _ in changes])

    def named(self, prefix: str, after: str, limit: int) -> Command[Any]:
        return _answered_by(Look(time.time(), "", []))

    def note(self, name: str, entries: Sequence[Any], keep: int, keep_for: float) -> Command[Any]:
        return _answered_by(None)

    def lines(self, question: Any) -> Command[Any]:
        return _answered_by([])


def _answered_by(answer: object) -> Command[Any]:
    return Command((answer,), lambda reply: reply)
