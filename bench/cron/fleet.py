"""Processes of one system that share its jobs; whatever happens, they are gone afterwards."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from bench.crew import pause
from bench.cron import peers, plan
from bench.cron.plan import Plan, Ran

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class NodeFailed(Exception):
    """One of the processes has ended by itself, or never begun; none of their figures counts."""


@dataclass(frozen=True, slots=True)
class Node:
    """One process, and where it writes."""

    process: subprocess.Popen[bytes]
    file: Path

    @classmethod
    def started(cls, system: str, told: Plan, file: Path, around: Mapping[str, str]) -> Self:
        words = [sys.executable, "-m", f"bench.cron.nodes.{system}", told.words()]
        environment = {**peers.environment(system), **around}
        with file.open("ab") as out, _faults(file).open("ab") as faults:
            # In a session of its own, so that Ctrl-C reaches us alone, and we stop it.
            return cls(
                subprocess.Popen(  # noqa: S603
                    words, cwd=ROOT, env=environment, stdout=out, stderr=faults, start_new_session=True
                ),
                file,
            )

    def refuse_if_ended(self) -> None:
        if self.process.poll() is not None:
            last = _faults(self.file).read_text("utf-8", "replace").strip().splitlines()[-1:]
            raise NodeFailed(last[0] if last else f"it has ended with {self.process.returncode}")

    def end(self) -> None:
        """At once: all that it has to say is in the file."""
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True, slots=True)
class Fleet:
    """Some of them."""

    nodes: Sequence[Node]

    def begun(self) -> Self:
        """The same, as soon as all have begun."""
        give_up_at = time.monotonic() + PATIENCE
        for node in self.nodes:
            while not plan.is_ready(node.file):
                node.refuse_if_ended()
                if time.monotonic() > give_up_at:
                    raise NodeFailed(f"it has not begun within {PATIENCE:g}s")
                pause(0.02)
        return self

    def ran(self) -> list[Ran]:
        """What all of them have run until now."""
        return [one for ran in self.each_ran() for one in ran]

    def each_ran(self) -> list[list[Ran]]:
        """What each of them has."""
        for node in self.nodes:
            node.refuse_if_ended()
        return [plan.noted(node.file) for node in self.nodes]


@contextmanager
def fleet(system: str, told: Plan, folder: Path, *, around: Sequence[Mapping[str, str]]) -> Iterator[Fleet]:
    """A process for each of these surroundings. They begin in different parts of a second, always the same."""
    nodes: list[Node] = []
    with ExitStack() as ending:
        for number, surroundings in enumerate(around):
            mine = replace(told, phase=number / len(around))
            node = Node.started(system, mine, folder / f"{system}-{number}", surroundings)
            ending.callback(node.end)
            nodes.append(node)
        yield Fleet(nodes)


def _faults(file: Path) -> Path:
    return file.with_suffix(".faults")
