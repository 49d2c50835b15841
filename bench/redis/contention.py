"""Sixty-four who want one key, in one process and in four: how often it changes hands, how soon, and how fairly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from bench.crew import Part, crew
from bench.redis import aio, blocking, contending, pingpong
from bench.redis.contending import Noted
from bench.redis.contest import Contest, beside, named
from bench.redis.cores import kept
from bench.redis.peers import FLOORS, OURS, PING_PONG, PYTHON_REDIS_LOCK, REDIS_PY, here
from bench.rounds import Effort, Row
from bench.turns import Turns, percentile

WAITERS, PROCESSES = 64, 4
TOGETHER, APART = f"{WAITERS} waiters", f"{WAITERS} waiters in {PROCESSES} processes"
PACE, FAIRNESS, STARVED, HALF, MOST = "hand-overs", "fairness", "starved", "hand-over p50", "hand-over p99"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one span."""

    pace: float
    """A second."""
    p50: float
    p99: float
    """Seconds from a release call until the next holder ran."""
    fairness: float = 1.0
    starved: int = 0

    @classmethod
    def of(cls, turns: Turns, span: float) -> Self:
        """From the turns of all."""
        handovers = turns.handovers
        half, most = percentile(handovers, 0.5), percentile(handovers, 0.99)
        return cls(len(handovers) / span, half, most, turns.fairness, turns.starved)


def together(contest: Contest, effort: Effort) -> list[Row]:
    """All in one process."""
    with ExitStack() as stack:
        contenders = {**_floor(contest, effort.span, stack), **_waiting(contest, 1, effort.span)}
        told = _Told(TOGETHER, contest.held(TOGETHER, contenders, effort.rounds))
    return [
        *beside(told.pace(), OURS, REDIS_PY),
        *told.fairness().values(),
        *beside(told.half(), OURS, PING_PONG),
        *beside(told.most(), OURS, PING_PONG),
    ]


def apart(contest: Contest, effort: Effort) -> list[Row]:
    """Shared out among several processes."""
    waiting = _waiting(contest, PROCESSES, effort.span)
    contenders = {name: play for name, play in waiting.items() if name in (*OURS, PYTHON_REDIS_LOCK)}
    told = _Told(APART, contest.held(APART, contenders, effort.rounds))
    return [
        *beside(told.pace(), OURS, PYTHON_REDIS_LOCK),
        *told.fairness().values(),
        *told.starved().values(),
        *told.half().values(),
        *told.most().values(),
    ]


@dataclass(frozen=True, slots=True)
class _Told:
    """The rows of each figure, by contender."""

    who: str
    found: Mapping[str, Sequence[Outcome]]

    def pace(self) -> dict[str, Row]:
        return self._rows(PACE, "/s", lambda outcome: outcome.pace)

    def half(self) -> dict[str, Row]:
        return self._rows(HALF, "µs", lambda outcome: outcome.p50 * 1e6)

    def most(self) -> dict[str, Row]:
        return self._rows(MOST, "µs", lambda outcome: outcome.p99 * 1e6)

    def fairness(self) -> dict[str, Row]:
        return _locks(self._rows(FAIRNESS, "Jain index", lambda outcome: outcome.fairness))

    def starved(self) -> dict[str, Row]:
        return _locks(self._rows(STARVED, "waiters", lambda outcome: outcome.starved))

    def _rows(self, figure: str, unit: str, measure: Callable[[Outcome], float]) -> dict[str, Row]:
        return {
            name: Row(named(figure, self.who, name), [*map(measure, given)], unit) for name, given in self.found.items()
        }


def _locks(told: Mapping[str, Row]) -> dict[str, Row]:
    """Without the floor, where nobody has to be fair."""
    return {name: row for name, row in told.items() if name not in FLOORS}


def _floor(contest: Contest, span: float, stack: ExitStack) -> dict[str, Callable[[], Outcome]]:
    """If there is a compiler to make it with."""
    if (compiler := pingpong.compiler()) is None:
        return {}
    folder = stack.enter_context(TemporaryDirectory(prefix="dibs-bench-"))
    part = partial(pingpong.play, pingpong.compiled(compiler, Path(folder)), contest.server.port, span)

    def play() -> Outcome:
        with crew(1) as one:
            return Outcome(*one.play(partial(kept, contest.cores.client, part))[0])

    return {PING_PONG: play}


def _waiting(contest: Contest, processes: int, span: float) -> dict[str, Callable[[], Outcome]]:
    each, port = WAITERS // processes, contest.server.port
    tasks, threads = (
        [name for name in here(openers) if name not in FLOORS] for openers in (aio.OPENERS, blocking.OPENERS)
    )
    parts: dict[str, Part[Sequence[Noted]]] = {
        **{name: partial(contending.with_threads, name, port, each, span) for name in threads},
        **{name: partial(contending.with_tasks, name, port, each, span) for name in tasks},
    }
    return {name: partial(_contended, contest, part, processes, span) for name, part in parts.items()}


def _contended(contest: Contest, part: Part[Sequence[Noted]], processes: int, span: float) -> Outcome:
    """In processes that are ended afterwards: some locks keep those who wait much longer than we look."""
    cores = contest.cores.client if processes == 1 else contest.cores.clients
    with crew(processes) as all_of_them:
        noted = all_of_them.play(partial(kept, cores, part))
    return Outcome.of(Turns.of([turns for each in noted for turns in each]), span)
