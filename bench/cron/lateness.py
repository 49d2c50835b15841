"""How long after its tick the body of a job begins, with one node and with several who want the same tick."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, inf
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.crew import pause
from bench.cron.contest import Contest
from bench.cron.fleet import Fleet, fleet
from bench.cron.peers import OURS
from bench.cron.plan import Plan, Ran
from bench.redis.cores import Cores
from bench.redis.line import url
from bench.redis.server import serving
from bench.rounds import Row
from bench.turns import percentile

REDIS, SQLITE = STORES = "redis", "sqlite"
CROWDS = (1, 4)
HALF, MOST = PARTS = "lateness p50", "lateness p99"
JOBS = Plan("", jobs=40, period=1.0, stretch=0.037)
"""Two dozen ticks a second, few of them at the same moment."""
LATEST = 0.5
"""Seconds in which all have begun, and in which the last tick is run."""


def named(figure: str, store: str, nodes: int) -> str:
    """The name of a row."""
    return f"{figure}, {nodes} {'node' if nodes == 1 else 'nodes'} on {store}: {OURS}"


def rows(contest: Contest, span: float) -> list[Row]:
    return [
        Row(named(figure, store, nodes), [percentile(waits, part) * 1e3], "ms")
        for store in STORES
        for nodes in CROWDS
        for waits in [_late(contest, store, nodes, span=span)]
        for figure, part in zip(PARTS, (0.5, 0.99), strict=True)
    ]


def _late(contest: Contest, store: str, nodes: int, *, span: float) -> Sequence[float]:
    """Seconds, of each tick that was due while we looked."""
    with _at_work(contest, store, nodes) as running:
        begin = time.time() + LATEST
        pause(LATEST + span + LATEST)
        return late(running.ran(), JOBS.periods, begin=begin, end=begin + span)


def late(ran: Sequence[Ran], periods: Sequence[float], *, begin: float, end: float) -> Sequence[float]:
    """By how much each tick was that these jobs had between the begin and the end; one not run is so for ever."""
    due = sum(ceil(end / period) - ceil(begin / period) for period in periods)
    found = [one.began_at - one.tick for one in ran if begin <= one.tick < end]
    return [*found, *[inf] * (due - len(found))]


@contextmanager
def _at_work(contest: Contest, store: str, nodes: int) -> Iterator[Fleet]:
    with (
        TemporaryDirectory(prefix="dibs-bench-") as folder,
        _url(contest, store, folder) as where,
        fleet(OURS, JOBS.on(where), Path(folder), around=[{}] * nodes) as running,
    ):
        yield running.begun()


@contextmanager
def _url(contest: Contest, store: str, folder: str) -> Iterator[str]:
    if store == SQLITE:
        yield f"sqlite:///{folder}/store.sqlite"
        return
    with serving(contest.program, Cores()) as server:
        yield url(server.port)
