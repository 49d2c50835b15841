"""What a caller wants of a lock, checked and in seconds."""

from __future__ import annotations

from dibs.model.value import value

PATIENCE = 2.0
"""How long a store may be silent before we say so, where no `wait` says otherwise."""

A_MOMENT = 0.1
"""The least time that an answer is given to arrive, also when the caller's wait is all but over."""


@value
class Request:
    """One wish for a lock; `wait` is `None` for as long as it takes."""

    name: str
    ttl: float
    wait: float | None = None
    purpose: str = ""
    renew: bool = True
    max_hold: float | None = None

    @property
    def is_patient(self) -> bool:
        """Whether it stands in the queue when the lock is held."""
        return self.wait is None or self.wait > 0
