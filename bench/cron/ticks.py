"""What became of the ticks of one job: which were run, which again, and which not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Self


@dataclass(frozen=True, slots=True)
class Tally:
    """The ticks of some time, counted."""

    due: int
    runs: int
    runs_of_last: int
    """Those of the last process: if it has none, it may not have tried."""
    again: int
    """Those run more than once."""
    missed: int

    @classmethod
    def of(cls, each: Sequence[Iterable[float]], *, period: int, begin: float, end: float) -> Self:
        """From what each has run, of those due from the begin on and before the end; others do not count."""
        due = range(ceil(begin / period) * period, ceil(end), period)
        counted = [Counter(tick for tick in map(round, ran) if tick in due) for ran in each]
        times = sum(counted, Counter[int]())
        return cls(
            due=len(due),
            runs=times.total(),
            runs_of_last=counted[-1].total(),
            again=sum(count > 1 for count in times.values()),
            missed=sum(tick not in times for tick in due),
        )
