"""How the user's callbacks for a beginning and an end are called: in that order, once each, and on whose thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import ref

from dibs.events import Stumbled

if TYPE_CHECKING:
    from dibs.errors import LeaseLost
    from dibs.runtime.engine import Engine

T = TypeVar("T")


class Farewell(Generic[T]):
    """Tells how something began and, once and never before that, how it ended; a callback that fails hurts nobody.

    It is known to the hold, so it must not keep alive what it tells of: a lease that is dropped has to be noticed.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        on_begun: Callable[[T], object] | None,
        on_ended: Callable[[T, str], object] | None,
    ) -> None:
        self._engine, self._name, self._on_begun, self._on_ended = engine, name, on_begun, on_ended
        self._still_to_do = set[str]() if on_ended is None else {"end"}
        self._has_begun, self._is_said = threading.Event(), threading.Event()
        if on_ended is None:
            self._is_said.set()

    def begin(self, subject: T) -> None:
        """Say that it begins, here and now."""
        self._subject = ref(subject)
        try:
            if self._on_begun is not None:
                self._on_begun(subject)
        except Exception as error:  # noqa: BLE001 - as for every callback
            self._stumble("begins", error)
        finally:
            self._has_begun.set()

    def end(self, subject: T, reason: str) -> None:
        """Say how it ended, here and now, unless that was said."""
        try:
            self._still_to_do.remove("end")
        except KeyError:
            return
        try:
            if self._on_ended is not None:
                self._on_ended(subject, reason)
        except Exception as error:  # noqa: BLE001 - as above
            self._stumble("is over", error)
        finally:
            self._is_said.set()

    def end_aside(self, subject: T, reason: str) -> None:
        """The same, on a thread of its own: for where nobody may be kept waiting."""
        if self._still_to_do:
            with suppress(RuntimeError):  # no more threads, or the interpreter ends
                threading.Thread(target=self.end, args=(subject, reason), name="dibs-on-ended", daemon=True).start()

    def lost(self, loss: LeaseLost) -> None:
        """It was lost. Called on a thread of its own."""
        self._has_begun.wait()
        if (subject := self._subject()) is not None:
            self.end(subject, loss.reason)

    def wait(self) -> None:
        """Wait until the callback for the end has returned."""
        self._is_said.wait()

    async def await_it(self) -> None:
        """Wait until the callback for the end has returned."""
        if not self._is_said.is_set():
            from dibs.stores.aside import aside  # noqa: PLC0415 - see Engine.aio

            await aside(self._is_said.wait)

    def _stumble(self, what: str, error: Exception) -> None:
        self._engine.tell(Stumbled(f"telling that a term of {self._name!r} {what}", repr(error)))
