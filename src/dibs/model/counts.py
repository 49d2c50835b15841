"""What a fleet counts together: how often what happened to which lock."""

from __future__ import annotations

from dibs.model.value import value

MOST_NAMES = 1_000
"""So many locks are counted by name; what happens to further ones is counted together."""
OTHERS = "(others)"


@value
class Count:
    """Something happened so many times."""

    name: str
    what: str
    by: int
