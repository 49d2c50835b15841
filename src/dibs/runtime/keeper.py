"""The keeper's thread: apart from every loop, so that a blocked one does not lose its leases."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, TypeVar

from dibs.errors import StoreRefused
from dibs.events import Stumbled
from dibs.flows.keeping import Keeper
from dibs.flows.overseeing import check_up
from dibs.ports.store import Command, Reply
from dibs.ports.world import AskAgain
from dibs.runtime.blocking import BlockingInbox, BlockingWorld, run

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.flows.desk import Desk
    from dibs.ports.wire import Wire

T = TypeVar("T")

NAP = 1.0
"""How long it sleeps at a time, lest it oversleep when the machine was suspended."""
IDLE = 5.0
"""How long it stays when there is nothing left to look after."""


class KeeperWorld(BlockingWorld):
    """The keeper's: like any thread's, but what it sends in passing it does not stay for."""

    def __init__(self, wire: Wire, now: Callable[[], float], desk: Desk) -> None:
        super().__init__(wire, now)
        self._desk = desk

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        asked_at = self.now()

        def answered(outcome: Reply | StoreUnreachable) -> None:
            if isinstance(outcome, Reply):
                self._note_time(outcome, asked_at)
                try:
                    heard(command.read(outcome.value))
                except Exception as error:  # noqa: BLE001 - it must not end the wire that brought the answer
                    self._desk.tell(Stumbled("reading an answer", repr(error)))
            elif undone is not None and isinstance(outcome, StoreRefused):
                undone()

        self._wire.post(command.words, command.node, answered)


class KeeperThread:
    """Runs while there is something to look after, and a little longer."""

    def __init__(self, world: KeeperWorld, desk: Desk) -> None:
        self._keeper, self._desk, self._world = Keeper(world, desk), desk, world
        self._has_checked_up = False
        self._inbox = BlockingInbox("", world.now, nap=NAP)
        self._thread: threading.Thread | None = None
        self._changing = threading.Lock()

    def nudge(self) -> None:
        """Something is due sooner than the keeper knows. The garbage collector may call this, anywhere."""
        self._inbox.put(AskAgain())
        if self._desk.is_closed:  # and perhaps the interpreter ends: it would wait for ever for a thread to start
            return
        # If the lock is taken, somebody starts the thread and it will see our nudge, or it ends and looks once more.
        if self._thread is None and self._changing.acquire(blocking=False):
            try:
                if self._thread is None:
                    self._start()
            finally:
                self._changing.release()

    def _start(self) -> None:
        thread = threading.Thread(target=self._live, name="dibs-keeper", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads: leases end by their own clock, and the next nudge tries again
            self._desk.wakes_at = inf
            self._desk.tell(Stumbled("starting the keeper's thread", repr(error)))
        else:
            self._thread = thread

    def stop(self, within: float) -> None:
        """The desk was closed: end the rounds."""
        self._inbox.put(AskAgain())
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(within)

    def _live(self) -> None:
        if not self._has_checked_up:
            self._has_checked_up = True
            check_up(self._world, self._desk)
        while True:
            run(self._keeper.serve(self._inbox, IDLE))
            with self._changing:
                self._thread = None
            if self._inbox.is_empty() or self._desk.is_closed or not self._takes_over():
                return

    def _takes_over(self) -> bool:
        """A nudge came while we were leaving: somebody must see to it, a new thread or we."""
        with self._changing:
            is_free = self._thread is None
            if is_free:
                self._thread = threading.current_thread()
        return is_free
