"""A signal that comes twice in the same moment was sent once."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ECHO = 0.1
"""Who ends a program that started another sends its signal to both, and the first passes it on. People are slower."""


class Echo:
    """Tells the second sound of a signal from a second signal, which would mean to hurry."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._heard_at = now, dict[int, float]()

    def is_one(self, number: int) -> bool:
        """Whether the signal that was heard just now is no more than the one that was heard before."""
        before, now = self._heard_at.get(number, -inf), self._now()
        self._heard_at[number] = now
        return now - before < ECHO
