"""Watches who leads, and says which promise was broken.

I11 whoever leads is the only one, by its own clock, and each term has a higher fence than all before it, also for a
store that has forgotten; an outage ends no candidacy; while somebody stands, and nothing goes wrong any more, it is
not long before somebody leads.

That whoever believes it leads has the lock is what I7 says of every lease: the referee is told of terms as of others.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.errors import LeaseLost, StoreUnreachable
    from dibs.flows.hold import Hold
    from dibs.testing.simulation.agenda import Agenda
    from dibs.testing.simulation.candidate import Candidate
    from dibs.testing.simulation.process import Process
    from dibs.testing.simulation.referee import Referee
    from dibs.testing.simulation.weather import Weather


class Succession:
    """The terms of all candidates of one world, in their order."""

    def __init__(self, referee: Referee, agenda: Agenda, weather: Weather) -> None:
        self._referee, self._agenda, self._ttl, self.counts = referee, agenda, weather.ttl, referee.counts
        self._clear_at, self._over_at = 0.0 if weather.is_prompt else inf, inf
        self._newest: dict[str, int] = {}
        self._newest_of: dict[str, Candidate] = {}
        self._vacant_since: dict[str, float] = {}
        self._processes: set[Process] = set()

    def heal(self) -> None:
        """What goes wrong has gone wrong; its effects may last for a while."""
        clear_at = self._agenda.now + 6 * self._ttl + 4
        self._clear_at, self._over_at = min(self._clear_at, clear_at), clear_at + self._ttl

    def is_over(self) -> bool:
        """Whether candidates may go home."""
        return self._agenda.now > self._over_at

    def stands(self, candidate: Candidate) -> None:
        """It wants to lead, from now on."""
        self._processes.add(candidate.process)
        candidate.stands_since = self._agenda.now
        if candidate.name not in self._newest_of:
            self._vacant_since.setdefault(candidate.name, self._agenda.now)

    def begins(self, candidate: Candidate, hold: Hold) -> None:
        """It leads, as far as it knows."""
        self.counts["terms"] += 1
        self._referee.entered(candidate.process, hold)
        self._judge_fence(candidate, hold)
        self._judge_vacancy(candidate)
        self._newest_of[candidate.name], candidate.last_fence = candidate, hold.fence
        self._newest[candidate.name] = max(hold.fence, self._newest.get(candidate.name, 0))

    def acts(self, candidate: Candidate, hold: Hold) -> None:
        """It has looked whether it still leads, and does something that only a leader may."""
        process, newest = candidate.process, self._newest[candidate.name]
        if hold.lost_because is not None:
            self._fault(f"{process.name} goes on leading by fence {hold.fence}, though {hold.lost_because}")
        if hold.fence < newest and not self._is_excused(hold):
            self._fault(f"{process.name} leads by fence {hold.fence}, though somebody does by fence {newest}")
        self._referee.write(process, hold)

    def ends(self, candidate: Candidate) -> None:
        """It does not lead any more. Who has lost its term, and sees it late, may have a successor by now."""
        if self._newest_of[candidate.name] is candidate:
            self._vacant_since[candidate.name] = self._agenda.now

    def resigned(self, candidate: Candidate, hold: Hold, *, cleanly: bool) -> None:
        """It has heard what came of its resignation."""
        self._referee.released(candidate.process, hold, cleanly=cleanly)

    def told_loss(self, candidate: Candidate, loss: LeaseLost) -> None:
        """It was told that it does not lead any more."""
        self._referee.told_loss(candidate.process, loss)

    def gave_up(self, candidate: Candidate, silence: StoreUnreachable) -> None:
        """An outage has ended its loop."""
        self._fault(f"{candidate.process.name} stands for {candidate.name} no more: {silence}")

    def _judge_fence(self, candidate: Candidate, hold: Hold) -> None:
        """A candidate tells the store of the fences it has seen, so its own rise even where the store's would fall."""
        who, newest = candidate.process.name, self._newest.get(candidate.name, 0)
        if hold.fence <= candidate.last_fence:
            self._fault(f"a term of {who} has fence {hold.fence}, its last one had {candidate.last_fence}")
        elif hold.fence <= newest and not self._is_excused(hold):
            self._fault(f"a term of {who} has fence {hold.fence}, one before it had {newest}")

    def _judge_vacancy(self, candidate: Candidate) -> None:
        """Who has died may have had the lock, or the next turn in its queue: each of them costs a TTL."""
        process, last = candidate.process, self._newest_of.get(candidate.name)
        died_at = inf if last is None else last.process.died_at
        vacant_since = min(self._vacant_since.pop(candidate.name, inf), died_at)  # else it sees its loss only later
        vacant = self._agenda.now - max(vacant_since, candidate.stands_since, process.awake_since(), self._clear_at)
        dead = sum(process.is_dead for process in self._processes)
        if vacant > (0.5 + dead) * self._ttl + 0.1:
            self._fault(f"nobody led {candidate.name} for {vacant:.3f}s while {process.name} stood for it")

    def _is_excused(self, hold: Hold) -> bool:
        return self._referee.fences_may_repeat or self._referee.is_excused(hold)

    def _fault(self, what: str) -> None:
        self._referee.fault("I11", what)
