"""A fleet of real nodes that run jobs, what they have noted of it, and what the store says."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from dibs import Dibs
from dibs.flows.sheets import look
from dibs.model.job import Run
from dibs.model.reading import job_of
from dibs.model.record import records_of
from dibs.model.sheet import Question
from dibs.questions.history import RunView, run_view
from dibs.runtime.blocking import run
from dibs.runtime.clock import boottime
from tests.chaos import crons
from tests.chaos.moments import PAUSE
from tests.chaos.stage import LONG, Actor, Stage


@dataclass(frozen=True, slots=True)
class Line:
    """What a job has noted."""

    what: str
    job: str
    tick: float
    pid: int
    attempt: int
    fence: int | None
    """Nothing, if it was run without the store."""
    at: float
    """By the clock that all processes of a machine share."""
    wall: float
    """By the clock of its node."""


class Fleet:
    """Nodes that are started alike; they may differ in their environment."""

    def __init__(self, stage: Stage, url: str, notes: Path, *jobs: crons.Terms, grace: float = 5.0) -> None:
        self._stage, self._url, self._notes, self._jobs, self._grace = stage, url, notes, jobs, grace
        self._nodes: list[Actor] = []
        self._leaving: list[Actor] = []

    def start(self, env: Mapping[str, str] | None = None) -> Actor:
        """One more node, on its way."""
        everything = None if env is None else {**os.environ, **env}
        facts = (self._url, str(self._notes), list(self._jobs), self._grace)
        self._nodes.append(self._stage.start(crons.serve, *facts, env=everything))
        return self._nodes[-1]

    def started(self, count: int) -> list[Actor]:
        """So many nodes, that serve."""
        nodes = [self.start() for _ in range(count)]
        for node in nodes:
            node.hear("serves")
        return nodes

    def kill(self) -> None:
        """All of it, at once."""
        for node in self._nodes:
            node.kill()
        self._nodes.clear()

    def kill_one(self, node: Actor) -> None:
        node.kill()
        self._nodes.remove(node)

    def send_away(self, node: Actor) -> None:
        """As a program is told to end; it takes its time."""
        os.kill(node.pid, signal.SIGTERM)
        self._nodes.remove(node)
        self._leaving.append(node)

    def leave(self) -> None:
        """All of it; each ends well."""
        for node in list(self._nodes):
            self.send_away(node)
        for node in self._leaving:
            node.ends()
        self._leaving.clear()

    def forget(self) -> None:
        """All nodes so far: what becomes of them is the test's own business."""
        self._nodes.clear()

    def lines(self, job: str = "", what: str = "begun") -> list[Line]:
        """What was noted so far, in that order."""
        text = self._notes.read_text() if self._notes.exists() else ""
        lines = [Line(*json.loads(line)) for line in text.splitlines()]
        return [line for line in lines if line.what == what and line.job in (job, job or line.job)]


def until(condition: Callable[[], bool], *, within: float = LONG) -> None:
    """Wait for what nobody tells us."""
    nobody, give_up_at = threading.Event(), boottime() + within
    while not condition():
        assert boottime() < give_up_at, "it does not come to be so"
        nobody.wait(PAUSE)


def history(d: Dibs, job: str) -> Sequence[RunView]:
    """What the store has noted of a job, the oldest first."""
    command = d._engine.desk.store.lines(Question(job, limit=10_000))
    lines = run(d._engine.blocking("read a history").ask(command, d._engine.desk.patience))
    return [run_view(job, record, UTC) for record in records_of(lines[::-1])]


def running(d: Dibs, *jobs: str) -> list[Run]:
    """What somebody does just now, as the store knows."""
    desk = d._engine.desk
    found = run(look(d._engine.blocking("look"), desk, desk.store.sheets(jobs))).look
    return [each for sheet in found.sheets for each in job_of(sheet).running]


def ticks(records: Sequence[RunView], **facts: Any) -> list[float]:
    """The ticks of those of which this is true."""
    return [
        record.tick.timestamp()
        for record in records
        if all(getattr(record, name) == fact for name, fact in facts.items())
    ]


def pid_of(node: str) -> int:
    """Of the process that a history's node is."""
    return int(node.split(":")[-2])
