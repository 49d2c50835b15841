"""The number that makes a late holder harmless: every grant's is higher than all before it."""

from __future__ import annotations

MICROSECONDS = 1_000_000


def next_fence(*, last: int, now: float, seen: int) -> int:
    """The fence of a new grant.

    `last` keeps it rising while the store remembers; the store's clock does when it has forgotten; and
    `seen`, the highest fence the asker knows of, does when that clock was set back as well.
    """
    return max(last + 1, int(now * MICROSECONDS), seen + 1)
