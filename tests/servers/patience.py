"""Waiting for what nobody tells us. Imports nothing of dibs: what is imported before the tests is covered by none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

LONG = 30.0
PAUSE = 0.01


def until(
    condition: Callable[[], bool],
    *,
    within: float = LONG,
    told: Callable[[], str] = lambda: "it does not come to be so",
) -> None:
    """Wait until it is so; else the test fails, with what is told then."""
    nobody, give_up_at = threading.Event(), monotonic() + within
    while not condition():
        assert monotonic() < give_up_at, told()
        nobody.wait(PAUSE)
