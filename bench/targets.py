"""What the figures are meant to be, and whether they are: a target that is missed is told like one that is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from bench import crowd, idle, importing, processes
from bench.peers import FILELOCK, OURS
from bench.rounds import Row


class Verdict(Enum):
    """What became of a target."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "not measured"


class Bound(Enum):
    """On which side of its limit a figure belongs."""

    AT_LEAST = "≥"
    AT_MOST = "≤"
    BELOW = "<"

    def holds(self, figure: float, limit: float) -> bool:
        match self:
            case Bound.AT_LEAST:
                return figure >= limit
            case Bound.AT_MOST:
                return figure <= limit
            case Bound.BELOW:
                return figure < limit


@dataclass(frozen=True, slots=True)
class Target:
    """A limit for one row: for its figure, or if it names a contender, for its ratio to that row of the same rounds."""

    row: str
    bound: Bound
    limit: float
    contender: str = ""
    unit: str = ""

    def judge(self, rows: Mapping[str, Row]) -> Judgement:
        """Compare with what was measured."""
        found = self._found(rows)
        if found is None:
            return Judgement(self, None, Verdict.UNKNOWN)
        return Judgement(self, found, Verdict.MET if self.bound.holds(found, self.limit) else Verdict.MISSED)

    def _found(self, rows: Mapping[str, Row]) -> float | None:
        row, contender = rows.get(self.row), rows.get(self.contender)
        if row is None or not self.contender:
            return None if row is None else row.figure
        return None if contender is None else row.beside(contender).ratio


@dataclass(frozen=True, slots=True)
class Judgement:
    """A target, and what was found."""

    target: Target
    found: float | None
    verdict: Verdict


def judged(rows: Sequence[Row], targets: Sequence[Target]) -> list[Judgement]:
    """What became of each target."""
    by_name = {row.name: row for row in rows}
    return [target.judge(by_name) for target in targets]


def embedded(crowd_size: int) -> list[Target]:
    """Those of the embedded store, and of what every program pays that might need a lock."""
    return [
        Target(importing.ADDED, Bound.AT_MOST, 30.0, unit="ms"),
        *(target for face in OURS for target in _contended(face)),
        *(Target(idle.named(face), Bound.BELOW, 1.0, unit="%") for face in OURS),
        *(Target(row(crowd_size), Bound.AT_MOST, 2.0, contender=crowd.empty()) for row in (crowd.spread, crowd.queued)),
    ]


def _contended(face: str) -> list[Target]:
    def named(figure: str, contender: str) -> str:
        return processes.named(figure, "1 ms", contender)

    return [
        Target(named("hand-overs", face), Bound.AT_LEAST, 20.0, contender=named("hand-overs", FILELOCK)),
        Target(named("fairness", face), Bound.AT_LEAST, 0.98),
        Target(named("hand-over p50", face), Bound.AT_MOST, 3.0, contender=named("hand-over p50", processes.FLOOR)),
    ]
