"""What a caller wants of a lock, checked and in seconds."""

from __future__ import annotations

from dibs.model.policy import OnOutageOfJob
from dibs.model.value import value

TTL = 30.0
"""How long the store keeps a lock without a sign of life, where nobody says otherwise."""

SHORTEST_TTL = 0.1
LONGEST_TTL = 7 * 86400.0

PATIENCE = 2.0
"""How long a store may be silent before we say so, where no `wait` says otherwise.

A client may be told another patience (`desk.patience`): so long goes on whoever asks and waits for the answer. Each
single try of theirs, to open a connection or to be answered, has these two seconds, or the client would bear one dead
connection instead of making another. So has what nobody waits for: the keeper's word that the store is silent is a fact
that operators want early however patient the callers are; and a goodbye must not keep a program from its end.
"""

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
    at_least: float = 0.0
    """How long it stays taken from when it was granted, also if it is released sooner."""
    room: int = 1
    """How many may hold the lock together, this one included."""
    is_counted: bool = False
    """Whether its owner may enter again, and the store counts how often it has."""
    on_outage: OnOutageOfJob | None = None
    """What to do if nobody knows who has the lock; `None` is as the client was told."""
    patience: float | None = None
    """How long the store may be silent, where no `wait` says so; `None` is as long as the client was told."""

    @property
    def is_patient(self) -> bool:
        """Whether it stands in the queue when the lock is held."""
        return self.wait is None or self.wait > 0
