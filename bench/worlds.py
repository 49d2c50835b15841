"""How many simulated worlds one core plays in a second."""

from __future__ import annotations

import gc
import time

from bench.rounds import Effort, Row
from dibs.testing.simulation import play

NAME = "simulated worlds on one core"


def rows(effort: Effort) -> list[Row]:
    return [Row(NAME, [_rate(effort.span) for _ in range(effort.rounds)], "/s")]


def _rate(span: float) -> float:
    """Always the same worlds, and without the collector, as `make sim` plays them."""
    seed, began = 0, time.perf_counter()
    gc.disable()
    try:
        while (elapsed := time.perf_counter() - began) < span:
            play(seed)
            seed += 1
    finally:
        gc.enable()
    return seed / elapsed
