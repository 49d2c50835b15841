"""What a call gives that did not run: a value that says why, and is false."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias

from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.errors import LockBusy

Why: TypeAlias = Literal["busy", "done", "outage"]
"""Somebody else has the lock; the work was done already; or nobody knows, because the store is silent."""


@dataclass(frozen=True, slots=True, repr=False)
class Skipped:
    """The body did not run. It is false, so `if result := job():` is only true if there is a result."""

    name: str
    """The lock's name."""
    why: Why = "busy"
    holder: str | None = None
    """Who has the lock, as far as is known."""
    purpose: str = ""
    """What for, if the holder said so."""
    since: float | None = None
    """Since when it is held, or when it was done, in epoch seconds of the store's clock."""
    ttl_left: float | None = None
    """For how many seconds the holder has it, unless it is renewed."""

    @classmethod
    def because(cls, busy: LockBusy) -> Skipped:
        """Somebody else has the lock."""
        return cls(busy.name, "busy", busy.holder, busy.purpose, busy.since, busy.ttl_left)

    @property
    def reason(self) -> str:
        """Why, in words."""
        match self.why:
            case "busy":
                return f"held by {self.holder or 'somebody else'}{self._details()}"
            case "done":
                return f"already done{f' by {self.holder}' if self.holder else ''}{self._at('at')}"
            case "outage":
                return "the store cannot be reached, and it was not to run without it"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"<Skipped {self.name!r}: {self.reason}>"

    def _details(self) -> str:
        purpose = f" for {self.purpose!r}" if self.purpose else ""
        return f"{purpose}{self._at('since')}{self._left()}"

    def _at(self, word: str) -> str:
        return f", {word} {datetime.fromtimestamp(self.since, UTC):%Y-%m-%d %H:%M:%S} UTC" if self.since else ""

    def _left(self) -> str:
        if self.ttl_left is None:
            return ""
        if self.ttl_left == inf:  # as only other programs can have it
            return ", for ever unless released"
        return f", {spoken(max(self.ttl_left, 0.0))} left unless renewed"
