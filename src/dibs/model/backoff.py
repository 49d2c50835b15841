"""How long to wait before trying again."""

from __future__ import annotations

from zlib import crc32

FIRST = 0.05
LONGEST_PAUSE = 1.0


def backoff(tries: int, owner: str) -> float:
    """The pause after so many failed tries: it doubles, up to a bound, spread so that owners don't march in step.

    The spread comes from the owner's token, so that a run in the simulator can be repeated.
    """
    widest = min(LONGEST_PAUSE, FIRST * 2.0 ** min(tries, 16))
    spread = crc32(f"{owner}/{tries}".encode()) / 2**32
    return widest * (0.5 + spread / 2)
