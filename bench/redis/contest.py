"""Contenders on one server, one after another: each finds it empty, and whoever breaks down drops out by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from bench.crew import CrewFailed
from bench.redis.cores import Cores
from bench.redis.peers import FLOORS, OURS
from bench.redis.server import Server
from bench.rounds import Row, interleaved
from bench.turns import NotExclusive

T = TypeVar("T")

INDISPENSABLE = frozenset((*OURS, *FLOORS))


@dataclass(frozen=True, slots=True)
class Contest:
    """Where they meet."""

    server: Server
    cores: Cores
    dropped: dict[str, str] = field(default_factory=dict[str, str])
    """In what somebody broke down, and of what."""

    def held(self, scene: str, contenders: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
        """What each gave in each round, of those who got through all of them."""
        plays = {name: partial(self._played, scene, name, play) for name, play in contenders.items()}
        found = interleaved(plays, rounds)
        whole = {name: [one for one in given if one is not None] for name, given in found.items()}
        return {name: given for name, given in whole.items() if len(given) == rounds}

    def _played(self, scene: str, name: str, play: Callable[[], T]) -> T | None:
        who = f"{name} in {scene}"
        if who in self.dropped:
            return None
        self.server.flush()
        try:
            return play()
        except (CrewFailed, NotExclusive) as error:
            if name in INDISPENSABLE:
                raise
            self.dropped[who] = str(error).strip().splitlines()[-1]
            return None


def named(figure: str, who: str, contender: str) -> str:
    """The name of a row."""
    return f"{figure}, {who}: {contender}"


def beside(told: Mapping[str, Row], ours: Iterable[str], other: str) -> list[Row]:
    """All rows, ours with their ratio to the other's, if there is one."""
    compared = {name: told[name].beside(told[other]) for name in ours if other in told}
    return [*{**told, **compared}.values()]
