"""What the store has granted, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from dibs.model.job import Run
from dibs.testing.simulation.cron.matter import Matter

if TYPE_CHECKING:
    from dibs.flows.duty import Underway
    from dibs.testing.simulation.cron.node import Node


@dataclass(slots=True, eq=False)
class Claim:
    """A run that the store has granted to a node."""

    matter: Matter
    run: Run
    node: Node | None
    fence: int
    at: float
    unaware: set[str] = field(default_factory=set[str])
    """Owners who had the same before, of which the store did not know any more, and could not."""
    mine: Underway | None = None
    has_begun: bool = False
    ended_at: float = inf

    @property
    def key(self) -> tuple[Matter, int]:
        """What is begun at most once."""
        return self.matter, self.run.attempt
