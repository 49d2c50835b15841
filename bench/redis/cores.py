"""Which core is the server's and which are the clients', so that neither takes time from the other."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bench.crew import Meet, Part

NOT_KEPT_APART = "server and clients share all cores, as this machine has none to give to each"


@dataclass(frozen=True, slots=True)
class Cores:
    """Where everybody stays; nobody is told anything where there are none to choose from."""

    server: Collection[int] = ()
    client: Collection[int] = ()
    """Of one process."""
    clients: Collection[int] = ()
    """Of several."""

    @property
    def are_apart(self) -> bool:
        """Whether the server has a core of its own."""
        return bool(self.server)


def shared_out() -> Cores:
    """The first core is the server's, the last a single client's, and several clients have all but the first."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores()
    first, *others = sorted(os.sched_getaffinity(0))
    return Cores([first], others[-1:], others) if others else Cores()


def keep(pid: int, cores: Collection[int]) -> None:
    """Let a process stay there; our own is 0."""
    if cores:
        os.sched_setaffinity(pid, cores)


def kept(cores: Collection[int], part: Part[Any], number: int, meet: Meet) -> Any:
    """A part that is played there, with all that it starts."""
    keep(0, cores)
    return part(number, meet)
