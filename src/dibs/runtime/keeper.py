"""The keeper's thread: apart from every loop, so that a blocked one does not lose its leases."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dibs.flows.keeping import Keeper
from dibs.ports.store import Command, Reply
from dibs.ports.world import AskAgain
from dibs.runtime.blocking import BlockingWorld, run

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.flows.desk import Desk

T = TypeVar("T")


class KeeperWorld(BlockingWorld):
    """The keeper's: like any thread's, but what it sends in passing it does not stay for."""

    def later(self, command: Command[T], heard: Callable[[T], object]) -> None:
        def answered(outcome: Reply | StoreUnreachable) -> None:
            if isinstance(outcome, Reply):
                heard(command.read(outcome.value))

        self._wire.post(command.words, command.node, answered)


class KeeperThread:
    """Starts at the first thing to look after, sleeps while there is nothing."""

    def __init__(self, world: KeeperWorld, desk: Desk) -> None:
        self._keeper, self._inbox = Keeper(world, desk), world.listen()
        self._desk = desk
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def nudge(self) -> None:
        """Something is due sooner than the keeper knows."""
        self._inbox.put(AskAgain())
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._serve, name="dibs-keeper", daemon=True)
                    self._thread.start()

    def stop(self, within: float) -> None:
        """End the rounds."""
        self._desk.is_closed = True
        self._inbox.put(AskAgain())
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(within)

    def _serve(self) -> None:
        run(self._keeper.serve(self._inbox))
