"""Two processes that share one job of a millisecond: which ticks are run again, and which never."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.crew import pause
from bench.cron import peers, skew
from bench.cron.contest import ALIKE, Contest, Party, named
from bench.cron.plan import Plan
from bench.cron.ticks import Tally
from bench.rounds import Row

SKEW = 2
"""Seconds that one clock is behind."""
RIGHT, BEHIND = "two clocks alike", f"one clock {SKEW} s behind"
RUNS, RUNS_OF_LAST = "runs", "runs of the second process"
AGAIN, MISSED = "ticks run again", "ticks missed"
LATEST = SKEW + 1.0
"""Seconds after the last tick in which somebody may still begin it."""
NOT_SKEWED = f"skipped, as this machine has {skew.NONE}: jobs with {BEHIND}"


@dataclass(frozen=True, slots=True)
class Watch:
    """For how long we look at a job that is due how often."""

    period: int
    span: float


def rows(contest: Contest, watch: Watch) -> list[Row]:
    """All systems and clocks at once, as it takes a minute until some run a tick again."""
    with TemporaryDirectory(prefix="dibs-bench-") as folder, ExitStack() as ending:
        around = {RIGHT: ALIKE}
        if not skew.NONE:
            around[BEHIND] = ({}, skew.behind(Path(folder), SKEW))
        plan = Plan("", jobs=1, period=watch.period)
        parties = {
            scene: ending.enter_context(contest.held(scene, peers.here(), plan, around=surroundings))
            for scene, surroundings in around.items()
        }
        tallies = _watched(contest, parties, watch)
    return [
        Row(named(figure, scene, system), [count(tally)], f"of {tally.due} ticks")
        for scene, told in tallies.items()
        for figure, count in _FIGURES.items()
        for system, tally in told.items()
    ]


_FIGURES: Mapping[str, Callable[[Tally], int]] = {
    RUNS: lambda tally: tally.runs,
    RUNS_OF_LAST: lambda tally: tally.runs_of_last,
    AGAIN: lambda tally: tally.again,
    MISSED: lambda tally: tally.missed,
}


def _watched(contest: Contest, parties: dict[str, list[Party]], watch: Watch) -> dict[str, dict[str, Tally]]:
    """From the second tick on that all were there for."""
    begin = (ceil(time.time() / watch.period) + 1) * watch.period
    end = begin + watch.span
    pause(end + LATEST - time.time())

    def tally(party: Party) -> Tally:
        each = [[one.tick for one in ran] for ran in party.fleet.each_ran()]
        return Tally.of(each, period=watch.period, begin=begin, end=end)

    return {
        scene: {party.system: told for party in those if (told := contest.told(scene, party, tally))}
        for scene, those in parties.items()
    }
