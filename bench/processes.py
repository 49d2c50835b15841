"""Eight processes that want the same lock: how often it changes hands, how soon, and whether all get their share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import wal
from bench.crew import Crew, Meet, Part, crew, pause
from bench.peers import FILELOCK, OURS, TASK, THREAD, file_lock, installed
from bench.rounds import Effort, Row, interleaved
from bench.turns import Turns, percentile
from dibs import connect

PROCESSES = 8
SECTIONS = {"1 ms": 0.001, "empty": 0.0}
FLOOR = "WAL write + datagram"
LOOP_FLOOR = f"{FLOOR} asyncio"
FLOORS = (FLOOR, LOOP_FLOOR)

Noted = Sequence[tuple[float, float]]
"""The turns of one process: when it had the lock, and when it called release."""


def named(figure: str, section: str, contender: str) -> str:
    """The name of a row."""
    return f"{figure}, {PROCESSES} processes, {section}: {contender}"


def rows(effort: Effort) -> list[Row]:
    with TemporaryDirectory(prefix="dibs-bench-") as folder, crew(PROCESSES) as eight:
        return [
            row
            for section, duration in SECTIONS.items()
            for row in _told(section, _played(eight, _parts(Path(folder), duration, effort.span), effort), effort)
        ]


def _played(eight: Crew, parts: Mapping[str, Part[Noted]], effort: Effort) -> dict[str, list[Turns]]:
    def contender(part: Part[Noted]) -> Callable[[], Turns]:
        return lambda: Turns.of(eight.play(part))

    return interleaved({name: contender(part) for name, part in parts.items()}, effort.rounds)


def _told(section: str, found: Mapping[str, Sequence[Turns]], effort: Effort) -> list[Row]:
    def told(figure: str, unit: str, measure: Callable[[Turns], float]) -> dict[str, Row]:
        return {name: Row(named(figure, section, name), [*map(measure, given)], unit) for name, given in found.items()}

    pace = told("hand-overs", "/s", lambda turns: len(turns.handovers) / effort.span)
    share = told("fairness", "Jain index", lambda turns: turns.fairness)
    half = told("hand-over p50", "µs", lambda turns: percentile(turns.handovers, 0.5) * 1e6)
    most = told("hand-over p99", "µs", lambda turns: percentile(turns.handovers, 0.99) * 1e6)
    beside_peer = {name: pace[name].beside(pace[FILELOCK]) for name in OURS if FILELOCK in pace}
    return [
        *{**pace, **beside_peer}.values(),
        *(row for name, row in share.items() if name not in FLOORS),
        *_beside_floor(half),
        *_beside_floor(most),
    ]


def _beside_floor(told: Mapping[str, Row]) -> list[Row]:
    """Both floors, and what is ours beside the lower one."""
    return [*(told[name] for name in FLOORS), *(told[name].beside(told[FLOOR]) for name in OURS)]


def _parts(folder: Path, section: float, span: float) -> dict[str, Part[Noted]]:
    url = f"sqlite:///{folder}/store.sqlite"
    return {
        FLOOR: partial(wal.take_turns, crowd=PROCESSES, folder=folder, section=section, span=span),
        LOOP_FLOOR: partial(wal.take_turns_in_a_loop, crowd=PROCESSES, folder=folder, section=section, span=span),
        **{peer: partial(_with_peer, peer, folder, section, span) for peer in installed()},
        THREAD: partial(_with_thread, url, section, span),
        TASK: partial(_with_task, url, section, span),
    }


def _with_peer(peer: str, folder: Path, section: float, span: float, number: int, meet: Meet) -> Noted:
    lock = file_lock(peer, folder)
    with lock:
        pass
    return _turns(lock, section, until=meet() + span)


def _with_thread(url: str, section: float, span: float, number: int, meet: Meet) -> Noted:
    with connect(url, quiet=True) as client:
        with client.lock(f"warm-up:{number}"):
            pass
        return _turns(client.lock("contended"), section, until=meet() + span)


def _turns(lock: AbstractContextManager[object], section: float, *, until: float) -> Noted:
    """A turn that begins too late is none: others may have stopped already."""
    turns = []
    while time.monotonic() < until:
        with lock:
            began_at = time.monotonic()
            if section:
                pause(section)
            ended_at = time.monotonic()
        if began_at < until:
            turns.append((began_at, ended_at))
    return turns


def _with_task(url: str, section: float, span: float, number: int, meet: Meet) -> Noted:
    async def live() -> Noted:
        async with connect(url, quiet=True) as client:
            async with client.lock(f"warm-up:{number}"):
                pass
            lock, turns, until = client.lock("contended"), [], meet() + span
            while time.monotonic() < until:
                async with lock:
                    began_at = time.monotonic()
                    if section:
                        await asyncio.sleep(section)
                    ended_at = time.monotonic()
                if began_at < until:
                    turns.append((began_at, ended_at))
        return turns

    return asyncio.run(live())
