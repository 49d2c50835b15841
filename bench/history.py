"""What people ask of a long history: each question, on a server and on a file that have as many runs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.redis import server
from bench.redis.cores import Cores
from bench.redis.line import url
from bench.rounds import Row
from bench.section import Section
from bench.targets import Bound, Target
from dibs import Dibs, connect
from dibs.model.record import Outcome, Record
from dibs.runtime.blocking import run

REDIS, SQLITE = "Redis", "SQLite"
LIMIT = 50.0
"""Milliseconds."""
BATCH = 250
OUTCOMES: Sequence[Outcome] = ("ok",) * 17 + ("failed", "missed", "skipped")
KEEP_FOR = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Size:
    """So many runs of each of these jobs, on these nodes."""

    each: int
    jobs: int
    nodes: int
    rounds: int

    @property
    def runs(self) -> int:
        return self.each * self.jobs


QUICK, FULL = Size(50, 10, 5, 1), Size(1_000, 200, 20, 7)


def named(question: str, size: Size, store: str) -> str:
    """The name of a row."""
    return f"{question}, {size.runs:,} runs: {store}"


def section(size: Size) -> Section:
    """Fill, ask, judge and tell."""
    program = server.program()
    wanted = [_target(question, size, store) for store in (REDIS, SQLITE) for question in questions(size)]
    rows, notes = _on_a_file(size), [] if program is not None else [f"skipped, histories on Redis: {server.NONE}"]
    if program is None:
        return Section(rows, wanted, notes)
    with server.serving(program, Cores()) as running, connect(url(running.port), quiet=True) as d:
        return Section([*_rows(d, size, REDIS), *rows], wanted, server=running.name)


def _on_a_file(size: Size) -> list[Row]:
    with TemporaryDirectory(prefix="dibs-bench-") as folder:
        path = Path(folder) / "history.sqlite"
        with connect(f"sqlite:///{path}", quiet=True) as d:
            return _rows(d, size, SQLITE)


def _target(question: str, size: Size, store: str) -> Target:
    return Target(named(question, size, store), Bound.BELOW, LIMIT, unit="ms")


def _rows(d: Dibs, size: Size, store: str) -> list[Row]:
    _fill(d, size)
    return [
        Row(named(question, size, store), [_timed(partial(ask, d)) for _ in range(size.rounds)], "ms")
        for question, ask in questions(size).items()
    ]


def questions(size: Size) -> Mapping[str, partial[Any]]:
    """Each as a page would ask it, of a client."""
    day = datetime.now(UTC) - timedelta(days=1)
    middle = datetime.now(UTC) - timedelta(seconds=30 * size.each)
    return {
        "the last runs": partial(Dibs.runs),
        "runs of a job": partial(Dibs.runs, job="job 3"),
        "failed runs": partial(Dibs.runs, state="failed"),
        "failed runs of a job": partial(Dibs.runs, job="job 3", state="failed"),
        "runs of a node": partial(Dibs.runs, node="node 3"),
        "runs of a job on a node": partial(Dibs.runs, job="job 3", node="node 3"),
        "failed runs of a node": partial(Dibs.runs, node="node 3", state="failed"),
        "lost runs of a node, of which there are none": partial(Dibs.runs, node="node 3", state="lost"),
        "runs of a time": partial(Dibs.runs, since=day, until=middle),
        "timings": partial(Dibs.timings),
        "timings of a job": partial(Dibs.timings, job="job 3"),
        "what is to come": partial(Dibs.upcoming),
        "who serves": partial(Dibs.nodes),
        "who did what": partial(Dibs.acts),
        "who did what to a job": partial(Dibs.acts, job="job 3"),
        "why": partial(Dibs.why, job="job 3", at=middle),
        "who held what at a moment": partial(Dibs.held_at, moment=middle),
    }


def _timed(ask: Callable[[], object]) -> float:
    """Milliseconds of one answer, once all is there that it takes."""
    ask()
    gc.collect()
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000


def _fill(d: Dibs, size: Size) -> None:
    """A tick a minute up to now, of every job."""
    last = time.time() // 60 * 60
    engine = d._engine  # noqa: SLF001 - runs of many hours are noted as nodes would
    world, store = engine.blocking("fill"), engine.desk.store
    for job in range(size.jobs):
        name = f"job {job}"
        d.schedules.add(name, job="work", every="1m", by="bench")
        entries = [
            _record(last - 60.0 * number, job + number, size).entry(name, name) for number in reversed(range(size.each))
        ]
        for start in range(0, len(entries), BATCH):
            some = entries[start : start + BATCH]
            run(world.ask(store.note(name, some, size.each + 10, KEEP_FOR), 30.0))


def _record(tick: float, number: int, size: Size) -> Record:
    outcome = OUTCOMES[number % len(OUTCOMES)]
    if outcome in {"missed", "skipped"}:
        return Record(tick, outcome, tick, "it came 2h ago, and its grace is 1h", version=1)
    begun = tick + number % 7 / 10
    return Record(
        tick,
        outcome,
        begun + 1.5,
        "" if outcome == "ok" else "ValueError: no stock",
        node=f"node {number * 7 % 23 % size.nodes}",
        fence=number,
        started_at=begun,
        ended_at=begun + 1.5,
        version=1,
        result='{"rows":1234}',
        log=("08:00:01 INFO reading", "08:00:02 INFO 1234 rows written"),
    )
