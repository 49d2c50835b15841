"""How soon what people say is done by others, while nodes come and go: from the moment at which they are told it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.crew import pause
from bench.cron.fleet import fleet
from bench.cron.nodes.many import FUNCTION
from bench.cron.plan import Plan
from bench.redis.cores import Cores
from bench.redis.line import url
from bench.redis.server import serving
from bench.rounds import Row
from bench.targets import Bound, Target
from dibs import Dibs, RunView, connect

NODES = 3
FIGURES = TRIGGERED, CHANGED, PAUSED = (
    "trigger until it begins",
    "first tick of a change, late by",
    "ticks run of a pause",
)
OFTEN = 1.0
PEOPLE = 8
"""They act at the same time."""
LOOKS = 0.03
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Acts:
    """So many of each."""

    times: int


def named(figure: str) -> str:
    """The name of a row."""
    return f"{figure}, {NODES} nodes and one that comes and goes: p99"


def targets() -> list[Target]:
    """Within a second, and what is paused is."""
    return [
        Target(named(TRIGGERED), Bound.BELOW, 1.0, unit="s"),
        Target(named(CHANGED), Bound.BELOW, 1.0, unit="s"),
        Target(named(PAUSED), Bound.AT_MOST, 0.0),
    ]


def rows(program: str, acts: Acts) -> list[Row]:
    """All people at once, each with schedules of its own."""
    with serving(program, Cores()) as server, connect(url(server.port), quiet=True) as client, _fleet(server.port):
        names = [f"job{number}" for number in range(acts.times)]
        client.schedules.add_all({name: {"job": FUNCTION, "every": "1d"} for name in names})
        with ThreadPoolExecutor(PEOPLE) as people:
            found = list(people.map(lambda name: _acted(client, name), names))
        pause(2 * OFTEN)
        after = [
            sum(run.tick.timestamp() > at for run in client.runs(job=name))
            for name, (_, _, at) in zip(names, found, strict=True)
        ]
    triggered, changed, _ = zip(*found, strict=True)
    return [
        Row(named(TRIGGERED), [_p99(triggered)], "s"),
        Row(named(CHANGED), [_p99(changed)], "s"),
        Row(named(PAUSED), [float(sum(after))], ""),
    ]


def _acted(client: Dibs, name: str) -> tuple[float, float, float]:
    """How long a trigger took, how late the first tick of a change was, and when a pause was known."""
    client.schedules.trigger(name)
    asked_at = time.time()
    [run] = _until(lambda: client.runs(job=name))
    triggered = _began(run) - asked_at
    client.schedules.change(name, every=OFTEN)
    ticks = _until(lambda: [run for run in client.runs(job=name) if run.source == "schedule"])
    client.schedules.pause(name)
    return max(triggered, 0.0), ticks[-1].lateness, time.time()


def _began(run: RunView) -> float:
    return 0.0 if run.started_at is None else run.started_at.timestamp()


def _until(seen: Callable[[], Sequence[RunView]]) -> Sequence[RunView]:
    give_up_at = time.monotonic() + PATIENCE
    while not (found := seen()):
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"nothing was run within {PATIENCE:g}s")
        pause(LOOKS)
    return found


@contextmanager
def _fleet(port: int) -> Iterator[None]:
    """Some that stay, and one that is killed and comes again."""
    over = threading.Event()
    with TemporaryDirectory(prefix="dibs-bench-") as folder:
        told = Plan(url(port), 0, 0)

        def flicker() -> None:
            number = 0
            while not over.is_set():
                number += 1
                place = Path(folder, f"flicker{number}")
                place.mkdir()
                with fleet("many", told, place, around=({},)) as nodes:
                    nodes.begun()
                    over.wait(1.0)

        with fleet("many", told, Path(folder), around=({},) * NODES) as nodes:
            nodes.begun()
            thread = threading.Thread(target=flicker)
            thread.start()
            try:
                yield
            finally:
                over.set()
                thread.join()


def _p99(figures: Sequence[float]) -> float:
    return sorted(figures)[int(len(figures) * 0.99) - 1] if len(figures) > 1 else figures[0]
