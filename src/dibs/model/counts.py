"""What a fleet counts together: how often what happened to which lock."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dibs.model.value import value

MOST_NAMES = 1_000
"""So many locks are counted by name; what happens to further ones is counted together."""
OTHERS = "(others)"

What: TypeAlias = Literal["acquired", "refused", "waited", "held", "renewed", "lost", "broken", "policy_uses"]
"""What can happen to a lock, as stores keep the word for it."""
IN_MS = "_ms"
"""What ends the word for how long it lasted: a sum, in whole milliseconds."""


@value
class Count:
    """Something happened so many times."""

    name: str
    what: str
    by: int
