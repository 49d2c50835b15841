"""The keeper's thread: apart from every loop, so that a blocked one does not lose its leases."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dibs.flows.keeping import Keeper
from dibs.ports.world import AskAgain
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.runtime.blocking import BlockingWorld


class KeeperThread:
    """Starts at the first thing to look after, sleeps while there is nothing."""

    def __init__(self, world: BlockingWorld, desk: Desk) -> None:
        self._keeper, self._inbox = Keeper(world, desk), world.listen("keeper")
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
        """End the rounds, and try once more to have our farewells heard."""
        self._desk.is_closed = True
        self._inbox.put(AskAgain())
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(within)

    def _serve(self) -> None:
        run(self._keeper.serve(self._inbox))
