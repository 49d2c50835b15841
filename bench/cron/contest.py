"""Systems side by side, each on a server of its own: whoever breaks down drops out by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from bench.cron.fleet import Fleet, NodeFailed, fleet
from bench.cron.peers import OURS
from bench.cron.plan import Plan
from bench.redis.cores import Cores
from bench.redis.line import url
from bench.redis.server import Server, serving

T = TypeVar("T")

NODES = 2
ALIKE: Sequence[Mapping[str, str]] = ({},) * NODES
"""Around each process: nothing."""


@dataclass(frozen=True, slots=True)
class Party:
    """A system at work."""

    system: str
    server: Server
    fleet: Fleet


@dataclass(frozen=True, slots=True)
class Contest:
    """Where they meet."""

    program: str
    """Of the servers."""
    dropped: dict[str, str] = field(default_factory=dict[str, str])
    """In what somebody broke down, and of what."""

    @contextmanager
    def held(
        self, scene: str, systems: Sequence[str], plan: Plan, *, around: Sequence[Mapping[str, str]] = ALIKE
    ) -> Iterator[list[Party]]:
        """All of them at once, each with a process for each surroundings, as soon as all are at work."""
        with ExitStack() as ending:
            parties = [ending.enter_context(self._party(system, plan, around)) for system in systems]
            yield [party for party in parties if self.told(scene, party, _begun)]

    def told(self, scene: str, party: Party, tell: Callable[[Party], T]) -> T | None:
        """What somebody has to tell; nothing, if it broke down. We ourselves must not."""
        try:
            return tell(party)
        except NodeFailed as failure:
            if party.system == OURS:
                raise
            self.dropped[f"{party.system} in {scene}"] = str(failure)
            return None

    @contextmanager
    def _party(self, system: str, plan: Plan, around: Sequence[Mapping[str, str]]) -> Iterator[Party]:
        with (
            TemporaryDirectory(prefix="dibs-bench-") as folder,
            serving(self.program, Cores()) as server,
        ):
            there = plan.on(url(server.port))
            with fleet(system, there, Path(folder), around=around) as nodes:
                yield Party(system, server, nodes)


def _begun(party: Party) -> Fleet:
    return party.fleet.begun()


def named(figure: str, scene: str, system: str) -> str:
    """The name of a row."""
    return f"{figure}, {scene}: {system}"
