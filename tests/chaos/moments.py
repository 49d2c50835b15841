"""When something happens that nobody tells us of, and how long things take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from dibs.runtime.clock import boottime

LONG = 10.0
"""How long something may take to happen before its test fails."""
PAUSE = 0.01
"""How long those wait who can only look again."""
IN_TIME = 0.25
"""How much later than it was told to a call may end."""


def so(condition: Callable[[], bool]) -> threading.Event:
    """An event that is set once the condition holds: for what nobody tells us."""
    happened, give_up_at = threading.Event(), monotonic() + LONG

    def look() -> None:
        while monotonic() < give_up_at:
            if condition():
                happened.set()
                return
            happened.wait(PAUSE)

    threading.Thread(target=look, daemon=True).start()
    return happened


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """What is done inside, however it ends, takes no longer."""
    began = boottime()
    try:
        yield
    finally:
        took = boottime() - began
        assert took <= seconds, f"it took {took:.3f} seconds, not {seconds:.3f}"
