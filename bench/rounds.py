"""How figures are taken: all contenders in turn, round after round, and the median of each."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from statistics import median, quantiles
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much time goes into the figures."""

    rounds: int
    span: float
    """Seconds that one contender runs in one round."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the median of its rounds, and how far apart they were."""

    name: str
    rounds: Sequence[float]
    unit: str
    ratio: float | None = None
    contender: str = ""

    @property
    def figure(self) -> float:
        """The median."""
        return median(self.rounds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a part of the median: beyond 0.2 do not trust the figure."""
        if len(self.rounds) < 2 or not self.figure or not all(map(isfinite, self.rounds)):
            return 0.0
        lower, _, upper = quantiles(self.rounds, n=4, method="inclusive")
        return (upper - lower) / 2 / self.figure

    def beside(self, other: Row) -> Row:
        """The same row with its ratio to the other: the median of the rounds' own, as a busy moment slows both."""
        ratio = median(_ratio(mine, theirs) for mine, theirs in zip(self.rounds, other.rounds, strict=True))
        return replace(self, ratio=ratio, contender=other.name)


def _ratio(mine: float, theirs: float) -> float:
    """Also to one who got nothing done at all in a round."""
    if theirs:
        return mine / theirs
    return inf if mine else 1.0


def interleaved(contenders: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What each gave in each round. They take turns, and another begins each time, as who comes first is not alike."""
    given: dict[str, list[T]] = {name: [] for name in contenders}
    order = deque(contenders.items())
    for _ in range(rounds):
        for name, contender in order:
            gc.collect()
            given[name].append(contender())
        order.rotate()
    return given
