"""How long things take, all in all: the middle, and how bad it gets."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.record import Record


@value
class Spread:
    """Seconds: half of all take at most `p50`, nine of ten at most `p90`, and none more than `max`."""

    p50: float
    p90: float
    p99: float
    max: float


def spread(seconds: Sequence[float]) -> Spread | None:
    """How these are spread, each figure being one of them; `None` if there are none."""
    if not seconds:
        return None
    ranked = sorted(seconds)
    p50, p90, p99 = (ranked[ceil(len(ranked) * percent / 100) - 1] for percent in (50, 90, 99))
    return Spread(p50, p90, p99, ranked[-1])


def lateness(records: Sequence[Record]) -> Spread | None:
    """By how much runs were begun after their ticks: first attempts, and none that were asked for long after them."""
    return spread([each.lateness for each in records if each.attempt == 1 and each.source != "backfill"])


def duration(records: Sequence[Record]) -> Spread | None:
    """How long attempts took."""
    return spread([each.duration for each in records])
