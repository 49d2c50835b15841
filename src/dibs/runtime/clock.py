"""The holder's own clock."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def boottime() -> float:
    """Seconds that are never set and go on while the machine sleeps: a lease does not outlive a closed lid."""
    if _CLOCK is None:
        return time.monotonic()
    return time.clock_gettime(_CLOCK)
