"""What a process has to run, and how it tells what it did: a line for each run, on its standard output."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from bench.crew import pause

READY = "ready"
WORK = 0.001
"""Seconds that a run takes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Some jobs that are all due at the same times."""

    url: str
    jobs: int
    period: float
    """Seconds from one tick to the next; nothing, for once an hour."""
    minute: int = 0
    """Of the hour, if it is once an hour."""
    stretch: float = 0.0
    """By how much each job's period is longer than the one before's, so that they are due at different times."""
    phase: float = 0.0
    """In which part of a second it begins: those who look once a second find each other's traces by that, or not."""

    @classmethod
    def told(cls) -> Self:
        """By whoever has started this process."""
        return cls(**json.loads(sys.argv[1]))

    def on(self, url: str) -> Self:
        """The same on that store."""
        return replace(self, url=url)

    def words(self) -> str:
        """How to tell it."""
        return json.dumps(asdict(self))

    @property
    def names(self) -> Sequence[str]:
        """What the jobs are called."""
        return [f"job{number}" for number in range(self.jobs)]

    @property
    def periods(self) -> Sequence[float]:
        """Of each job, in whole milliseconds."""
        return [round(self.period + self.stretch * number, 3) for number in range(self.jobs)]

    def begin(self) -> None:
        """Wait for the moment at which it begins, and say so. By the clock that no skew touches."""
        pause((self.phase - time.monotonic()) % 1.0)
        _say(READY)


class Ran(NamedTuple):
    """One run: of which tick, and when its body began, by the clock of its process."""

    tick: float
    began_at: float


def note(tick: float, began_at: float) -> None:
    """In a process: a job was run."""
    _say(f"{tick} {began_at}")


def is_ready(file: Path) -> bool:
    """Whether the process that writes there has begun."""
    return file.read_text("ascii").startswith(READY)


def noted(file: Path) -> list[Ran]:
    """What the process has run that wrote there."""
    return [Ran(*map(float, line.split())) for line in file.read_text("ascii").splitlines() if line != READY]


def _say(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode("ascii"))  # at once and whole, from any thread
