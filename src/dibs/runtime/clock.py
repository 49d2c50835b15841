"""The holder's own clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

boottime: Callable[[], float] = time.monotonic if _CLOCK is None else partial(time.clock_gettime, _CLOCK)
"""Seconds that are never set and go on while the machine sleeps: a lease does not outlive a closed lid."""
