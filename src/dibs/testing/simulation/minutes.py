"""What a referee writes down: what happened, if somebody wants to read it, and which promises were broken."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.testing.simulation.agenda import Agenda


class Minutes:
    """A trace of a world, its faults, and how often what was seen."""

    def __init__(self, agenda: Agenda, trace: list[str] | None) -> None:
        self._agenda, self._trace = agenda, trace
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()

    def note(self, who: str, what: str) -> None:
        """A line of the trace."""
        if self._trace is not None:
            self._trace.append(f"{self._agenda.now:9.4f}  {who:6}  {what}")

    def fault(self, invariant: str, what: str) -> None:
        """A promise was broken."""
        self.faults.append(f"{invariant}: {what} (at {self._agenda.now:.4f})")
        self.note("FAULT", self.faults[-1])
