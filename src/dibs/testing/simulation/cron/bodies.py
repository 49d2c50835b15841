"""Watches what is being done at this moment, by whom.

C5 runs of a job that may not overlap never do, as far as each who does one knows · C7 what a node has run without the
store, it does not run again.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.flows.duty import Underway
    from dibs.testing.simulation.cron.almanac import Almanac, Judge
    from dibs.testing.simulation.cron.server import CronServer
    from dibs.testing.simulation.process import Process


class Bodies:
    """Who does what."""

    def __init__(self, judge: Judge, server: CronServer, almanac: Almanac) -> None:
        self._judge, self._server, self._almanac = judge, server, almanac
        self._bodies: list[tuple[Process, Underway]] = []
        self._early: set[str] = set()
        self._alone: dict[tuple[str, str, float], str] = {}
        self._deceived_at = -inf

    def note_loose(self, mine: Underway) -> None:
        """It is to be done without the store."""
        if mine.run.tick > self._server.clock():  # it comes yet, by the store's clock
            self._early.add(mine.owner)

    def began(self, process: Process, mine: Underway, *, others_had_it: bool) -> None:
        """A body begins; who else had it by the store may have handed it back."""
        if mine.run.source in {"schedule", "outage"} and mine.run.attempt == 1 and not others_had_it:
            self._judge_alone(process, mine)
        if not mine.policy and mine.terms.overlap != "allow":
            self._judge_overlap(mine)
        self._bodies.append((process, mine))

    def ended(self, mine: Underway) -> None:
        """A body has ended."""
        self._bodies = [(process, other) for process, other in self._bodies if other is not mine]

    def _judge_overlap(self, mine: Underway) -> None:
        what = f"{mine.job} {mine.run.tick:g}/{mine.run.attempt}"
        for process, other in self._bodies:
            believes = other.is_relied_on(process.clock()) and not (process.is_dead or other.policy)
            is_allowed = other.terms.overlap == "allow" and other.run.fence > mine.run.fence  # since we were given it
            if other.job == mine.job and believes and not is_allowed and not self.is_deceived(other):
                self._judge.fault("C5", f"{what} is begun by {mine.owner}, while {other.owner} does {other.run.tick:g}")

    def _judge_alone(self, process: Process, mine: Underway) -> None:
        """By whichever of the two it was run first."""
        key = process.name, mine.job, mine.run.tick
        if mine.owner in self._early:
            return
        if key in self._alone and (mine.policy or self._alone[key]) and not self._almanac.has_jumped_back:
            how = mine.policy or "the store"
            self._judge.fault("C7", f"{process.name} runs {mine.run.tick:g} by {how}, and did by {self._alone[key]!r}")
        self._alone.setdefault(key, mine.policy)

    def deceived(self) -> None:
        """The store has forgotten something, or its clock was set."""
        self._deceived_at = self._server.agenda.now

    def is_deceived(self, mine: Underway) -> bool:
        """Whether the store's memory or clock deceives its node, and its next renewal is not to be answered yet."""
        return self._server.agenda.now < self._deceived_at + 1.1 * mine.terms.ttl
