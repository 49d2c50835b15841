"""Many schedules on one store, of which few are due: what starting, waiting and claiming cost, the more there are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.crew import pause
from bench.cron.fleet import Fleet, Node, fleet
from bench.cron.load import sent
from bench.cron.nodes.many import FUNCTION
from bench.cron.plan import Plan
from bench.cron.usage import cpu_of, memory_of
from bench.redis.cores import Cores
from bench.redis.line import line, url
from bench.redis.server import serving
from bench.rounds import Row
from bench.targets import Bound, Target
from dibs import Dibs, connect

NODES = 4
REDIS, SQLITE = "Redis", "SQLite"
FIGURES = STARTING, IDLE, SENT, MEMORY, KEPT, CLAIMED, RATE, COST = (
    "start-up",
    "idle node",
    "commands",
    "a node's memory",
    "the server's memory",
    "all of them begun",
    "claims",
    "CPU of a claim",
)
SOON, PATIENCE = 2.0, 60.0
PERIOD = 10
"""Seconds from one time at which all are due to the next."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How many schedules there are, of which so many are due at once, so many times."""

    on_redis: Sequence[int]
    on_sqlite: Sequence[int]
    due: int
    times: int
    span: float


def named(figure: str, store: str, many: int) -> str:
    """The name of a row."""
    return f"{figure}, {many:,} schedules, {NODES} nodes: {store}"


def targets(scale: Scale) -> list[Target]:
    """What is not due costs nothing, and what is due at once is begun at once."""
    most = max(scale.on_redis)
    fewer = [many for many in scale.on_redis if many * 10 == most]
    return [
        Target(named(STARTING, REDIS, most), Bound.BELOW, 30.0, unit="s"),
        Target(named(IDLE, REDIS, most), Bound.BELOW, 5.0, unit="% CPU"),
        Target(named(CLAIMED, REDIS, most), Bound.BELOW, 1.0, unit="s"),
        *(Target(named(COST, REDIS, most), Bound.BELOW, 1.3, contender=named(COST, REDIS, many)) for many in fewer),
    ]


def rows(program: str, scale: Scale) -> list[Row]:
    """One size after another, each on a store of its own."""
    found: list[Row] = []
    for many in scale.on_redis:
        with serving(program, Cores()) as server, TemporaryDirectory(prefix="dibs-bench-") as folder:
            found += _Scene(REDIS, url(server.port), many, Path(folder), port=server.port).rows(scale)
    for many in scale.on_sqlite:
        with TemporaryDirectory(prefix="dibs-bench-") as folder:
            found += _Scene(SQLITE, f"sqlite:///{folder}/jobs.sqlite", many, Path(folder)).rows(scale)
    return found


@dataclass(frozen=True, slots=True)
class _Scene:
    store: str
    url: str
    many: int
    folder: Path
    port: int | None = None

    def rows(self, scale: Scale) -> list[Row]:
        with connect(self.url, quiet=True) as client:
            client.schedules.add_all(_idle(self.many - scale.due))
            with self._fleet(client) as (nodes, took):
                found = [self._row(STARTING, [took], "s"), *self._waiting(nodes, scale.span)]
                client.schedules.add_all(_due(scale.due))
                bursts = [self._burst(nodes, scale.due) for _ in range(scale.times)]
        lasted, used = zip(*bursts, strict=True)
        return [
            *found,
            self._row(CLAIMED, lasted, "s"),
            self._row(RATE, [scale.due / one for one in lasted], "/s"),
            self._row(COST, [one / scale.due * 1e6 for one in used], "µs"),
        ]

    @contextmanager
    def _fleet(self, client: Dibs) -> Iterator[tuple[Fleet, float]]:
        """Some nodes, and how long it took until all had their places."""
        began = time.monotonic()
        with fleet("many", Plan(self.url, 0, 0), self.folder, around=({},) * NODES) as nodes:
            _until(lambda: sum(node.state == "up" for node in client.nodes()) == NODES)
            yield nodes, time.monotonic() - began

    def _waiting(self, nodes: Fleet, span: float) -> Iterator[Row]:
        """What they do while nothing is due."""
        pause(1.0)
        before = [cpu_of(node.process.pid) for node in nodes.nodes]
        asked = None if self.port is None else sent(self.port, span)
        if asked is None:
            pause(span)
        spent = [cpu_of(node.process.pid) - used for node, used in zip(nodes.nodes, before, strict=True)]
        yield self._row(IDLE, [max(spent) / span * 100], "% CPU")
        if asked is not None:
            yield self._row(SENT, [asked / span / NODES], "/s a node")
        yield self._row(MEMORY, [max(memory_of(node.process.pid) for node in nodes.nodes)], "MB")
        if self.port is not None:
            with line(self.port) as control:
                yield self._row(KEPT, [control.info("memory")["used_memory"] / 1e6], "MB")

    def _burst(self, nodes: Fleet, due: int) -> tuple[float, float]:
        """So many are due at once: until when the last of them was begun, and how much CPU all took for it."""
        tick = (int(time.time() + SOON) // PERIOD + 1) * PERIOD

        def begun() -> list[float]:
            return [ran.began_at for ran in nodes.ran() if ran.tick == tick]

        pause(max(tick - 0.5 - time.time(), 0.0))
        before = self._cpu(nodes.nodes)
        _until(lambda: len(begun()) >= due)
        pause(1.0)  # until the last of them has settled
        return max(begun()) - tick, self._cpu(nodes.nodes) - before

    def _cpu(self, nodes: Sequence[Node]) -> float:
        used = sum(cpu_of(node.process.pid) for node in nodes)
        if self.port is None:
            return used
        with line(self.port) as control:
            told = control.info("cpu")
            return float(used + told["used_cpu_user"] + told["used_cpu_sys"])

    def _row(self, figure: str, figures: Sequence[float], unit: str) -> Row:
        return Row(named(figure, self.store, self.many), list(figures), unit)


def _idle(many: int) -> Mapping[str, Any]:
    """Hourly ones, spread over the minutes that are far away."""
    minute = int(time.time() / 60) % 60
    away = [(minute + 20 + number % 30) % 60 for number in range(many)]
    return {f"idle{number}": {"job": FUNCTION, "cron": f"{away[number]} * * * *"} for number in range(many)}


def _due(many: int) -> Mapping[str, Any]:
    """Some that are all due at the same time, again and again."""
    return {f"due{number}": {"job": FUNCTION, "every": PERIOD} for number in range(many)}


def _until(is_so: Any) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"it does not come to be so within {PATIENCE:g}s")
        pause(0.05)
