"""The scheduler's thread: apart from every loop and every run, so that none of them costs a run its lease."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.events import Stumbled
from dibs.runtime.blocking import run
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.flows.shift import Shift
    from dibs.runtime.engine import Engine

RETRY = 0.25
"""How soon a store that is silent is told again what is handed back."""
AFTER_A_FALL = 1.0
"""How long it waits after a round that failed."""


class Scheduler:
    """Round after round, until it is told to end; then it hands back what has not ended."""

    def __init__(self, engine: Engine, ended: Callable[[], None]) -> None:
        self._engine, self._desk, self._ended = engine, engine.desk, ended
        self._woken = threading.Event()
        self._is_over = False
        self._last_fault = ""

    def start(self, shift: Shift) -> None:
        """Begin with the rounds."""
        self._shift = shift
        self._thread = threading.Thread(target=self._live, name="dibs-scheduler", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something has happened that is to be told: do not wait for the next round."""
        self._woken.set()

    def stop_claiming(self) -> None:
        """From now on only what is in hand is looked after."""
        self._shift.is_leaving = True
        self._woken.set()

    def end(self) -> None:
        """Hand back what is in hand, and be over."""
        self._is_over = True
        self.stop_claiming()

    def join(self) -> None:
        """See its thread end, which has said that it will."""
        self._thread.join()

    def _live(self) -> None:
        try:
            while not self._is_over and self._engine.serves(self._desk):
                self._woken.clear()
                self._woken.wait(self._round())
            self._hand_back()
        finally:
            self._ended()

    def _round(self) -> float:
        try:
            wait = run(self._shift.round())
        except BaseException as error:  # noqa: BLE001 - a round may fail, but the node goes on
            self._stumble("running jobs", error)
            return AFTER_A_FALL
        self._last_fault = ""
        return max(wait, 0.0)

    def _hand_back(self) -> None:
        """A store that stays silent is not waited for: what is in hand is free when its TTL is over."""
        give_up_at = boottime() + self._desk.patience
        while self._engine.serves(self._desk):
            try:
                return run(self._shift.retire())
            except StoreUnreachable as silence:
                if boottime() + RETRY > give_up_at:
                    return self._stumble("handing back runs", silence)
                self._woken.clear()
                self._woken.wait(RETRY)
            except BaseException as error:  # noqa: BLE001 - as above
                return self._stumble("handing back runs", error)
        return None

    def _stumble(self, doing: str, error: BaseException) -> None:
        """The same fault in one round after the other is told once."""
        fault = repr(error)
        if fault != self._last_fault:
            self._last_fault = fault
            self._engine.tell(Stumbled(doing, fault))
