"""The gate before the open file: one thread at a time, whatever signals and forks do in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

T = TypeVar("T")
Facts = TypeVarTuple("Facts")


class InUse(Exception):
    """Another thread, or another process, is at the file just now."""


class Gate:
    """Lets one thread in, and knows which (`inside` is 0 while none is)."""

    def __init__(self) -> None:
        self._mutex, self.inside, self._is_shut = threading.RLock(), 0, False

    @property
    def is_occupied(self) -> bool:
        """Whether a thread is inside that did not come to shut it."""
        return self.inside != 0 and not self._is_shut

    def alone(self, within: float, act: Callable[[*Facts], T], *facts: *Facts) -> T:
        """Do something while no other thread does; `InUse` if one stays for longer.

        A signal may strike between any two calls, so whether the mutex is ours is found out by giving it back.
        """
        me = threading.get_ident()
        try:
            if not self._mutex.acquire(timeout=max(within, 0.0)):
                raise InUse
            self.inside = me
            return act(*facts)
        finally:
            if self.inside == me:
                self.inside = 0
            try:  # noqa: SIM105 - the release must be the first call in here
                self._mutex.release()
            except RuntimeError:
                pass

    def shut(self, within: float) -> bool:
        """Let nobody in any more; false if a thread stays inside, be it this one."""
        if self.inside == threading.get_ident() or not self._mutex.acquire(timeout=within):
            return False
        self.inside, self._is_shut = threading.get_ident(), True
        return True

    def open(self) -> None:
        """Undo that, if it was us who did it."""
        if self._is_shut and self.inside == threading.get_ident():
            self.inside, self._is_shut = 0, False
            self._mutex.release()
