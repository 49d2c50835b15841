"""The turns that several processes had with one lock, put in order: who followed whom, how soon, and how often."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from typing import NamedTuple, Self


class Turn(NamedTuple):
    """From when somebody had the lock until it called release, by the clock that all processes of a machine share."""

    holder: int
    began_at: float
    ended_at: float


class NotExclusive(Exception):
    """Two held the lock at once: a figure of such a lock is worth nothing."""


@dataclass(frozen=True, slots=True)
class Turns:
    """All turns of one contest, as they came."""

    turns: Sequence[Turn]
    holders: int

    @classmethod
    def of(cls, each: Sequence[Iterable[tuple[float, float]]]) -> Self:
        """From what each has noted of its own; `NotExclusive` if that does not go together."""
        turns = sorted(
            (Turn(holder, *times) for holder, noted in enumerate(each) for times in noted),
            key=lambda turn: turn.began_at,
        )
        for before, after in pairwise(turns):
            if after.began_at < before.ended_at:
                raise NotExclusive(f"{after} began before the end of {before}")
        return cls(turns, len(each))

    @property
    def handovers(self) -> list[float]:
        """For each time that another process came next: how long from the release call until it had the lock."""
        return [
            after.began_at - before.ended_at for before, after in pairwise(self.turns) if before.holder != after.holder
        ]

    @property
    def fairness(self) -> float:
        """Jain's index over the turns of each."""
        return jain(self._counts())

    @property
    def starved(self) -> int:
        """How many had no turn at all."""
        return self._counts().count(0)

    def _counts(self) -> list[int]:
        counts = [0] * self.holders
        for turn in self.turns:
            counts[turn.holder] += 1
        return counts


def jain(turns: Collection[float]) -> float:
    """Jain's index of fairness: 1 if all have had the same, 1/n if one has had everything."""
    squares = sum(turn * turn for turn in turns)
    return sum(turns) ** 2 / (len(turns) * squares) if squares else 1.0


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that is not below so large a part of them; never, if there are none."""
    if not values:
        return inf
    return sorted(values)[max(ceil(part * len(values)), 1) - 1]
