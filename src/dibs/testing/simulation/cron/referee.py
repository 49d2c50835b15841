"""Watches a fleet that runs jobs and says which promise was broken. Knows the truth that no node can see.

C1 a (job, tick, attempt) is begun at most once, by whom the store has granted it, before it is begun. Where the store
has forgotten the grant, it is not begun again once the node that had it lives on and has reached the store since · C3
the fences of a job's attempts rise, and each keeps its own · C4 what came of a run is taken from its owner · C5 runs of
a job that may not overlap never do, as far as each who does one knows · C7 what a node has run without the store, it
does not run again (C2 and C6, of ticks, are the almanac's).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from dibs.flows.duty import Underway
from dibs.model.job import Job, Record, Run, job_of, record_of
from dibs.model.rota import FORGOTTEN, SHUT_DOWN
from dibs.testing.simulation.cron.almanac import Almanac
from dibs.testing.simulation.minutes import Minutes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.events import Event
    from dibs.flows.duty import Duty
    from dibs.model.sheet import Entry, Sheet
    from dibs.testing.simulation.cron.node import Node
    from dibs.testing.simulation.cron.server import CronServer
    from dibs.testing.simulation.process import Process


@dataclass(slots=True, eq=False)
class Claim:
    """A run that the store has granted to a node."""

    job: str
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
    def key(self) -> tuple[str, float, int, str]:
        """What is begun at most once."""
        return self.job, self.run.tick, self.run.attempt, self.run.source


class CronReferee(Minutes):
    """Sees every change of a sheet and every body that begins or ends."""

    places = 2
    come_twice = False
    """Whether messages do: then the first may be granted, and its asker hear that the second was too late."""

    def __init__(self, server: CronServer, duties: Mapping[str, Duty], trace: list[str] | None = None) -> None:
        super().__init__(server.agenda, trace)
        self._server, self._duties = server, duties
        self.nodes: dict[str, Node] = {}
        self.almanac = Almanac(self, server, duties)
        self._claims: dict[str, Claim] = {}
        self._same: dict[tuple[str, float, int, str], list[Claim]] = defaultdict(list)
        self._bodies: list[tuple[Process, Underway]] = []
        self._loose: dict[str, Underway] = {}
        self._early: set[str] = set()
        self._alone: dict[tuple[str, str, float], str] = {}
        self._highest_fence = 0
        self._deceived_at = self._forgot_at = -inf
        server.clerk = self

    # What the store does.

    def saw_change(self, before: Sheet | None, after: Sheet | None, entries: Sequence[Entry]) -> None:
        """Hold one change against the law."""
        if after is None:
            return
        old, new = None if before is None else job_of(before), job_of(after)
        records = [record_of(entry.text) for entry in entries]
        if self._trace is not None:
            runs = [f"{run.tick:g}/{run.attempt} {run.owner or 'waits'}" for run in new.runs]
            noted = [f"{record.tick:g}/{record.attempt} {record.outcome} {record.reason}" for record in records]
            self.note("store", f"{new.name} r{new.revision} due {new.next_due}: {runs} {noted or ''}")
        known = {} if old is None else {run.owner: run for run in old.running}
        for run in new.running:
            if run.owner not in known and run.owner in self._loose:
                self._note_adopted(new, run)
            elif run.owner not in known and run.owner in self._claims:
                self._judge_return(new, run)
            elif run.owner not in known:
                self._judge_grant(new, run)
            elif run.fence != known[run.owner].fence:
                self.fault("C3", f"{run.owner} had fence {known[run.owner].fence}, and has {run.fence}")
        for record in records:
            if record.started_at:
                self._judge_record(known, new, record)
        self.almanac.saw_change(old, new, records)

    def _judge_grant(self, job: Job, run: Run) -> None:
        self.counts["claims"] += 1
        if run.fence <= self._highest_fence:
            self.fault("C3", f"{run.owner} got fence {run.fence} after {self._highest_fence}")
        self._highest_fence = max(run.fence, self._highest_fence)
        node = self.nodes.get(run.owner.rpartition(".")[0])
        claim = Claim(job.name, run, node, run.fence, self._server.agenda.now)
        if run.source == "outage":  # begun once more, as the one who began it without the store has died
            self._claims[run.owner] = claim
            return
        claim.unaware = {other.run.owner for other in self._same[claim.key] if self._is_unaware(other)}
        claim.unaware |= {owner for other in self._same[claim.key] for owner in other.unaware}
        self._same[claim.key].append(claim)
        self._claims[run.owner] = claim

    def _note_adopted(self, job: Job, run: Run) -> None:
        """A run that was begun without the store is leased from now on. Several of them may be in one change."""
        self.counts["adopted"] += 1
        mine = self._loose[run.owner]
        self._highest_fence = max(run.fence, self._highest_fence)
        node = self.nodes.get(run.owner.rpartition(".")[0])
        self._claims[run.owner] = claim = Claim(job.name, run, node, run.fence, self._server.agenda.now)
        claim.mine = mine

    def _judge_return(self, job: Job, run: Run) -> None:
        """The store is told again of a run that it has forgotten."""
        self.counts["told again"] += 1
        if run.fence != self._claims[run.owner].fence or not self.almanac.is_forgotten(job.name, run.tick):
            self.fault("C3", f"{run.owner} came back with fence {run.fence}, though nothing was forgotten")

    def _is_unaware(self, claim: Claim) -> bool:
        """Whether the store has forgotten a claim, and who had it could not tell it again."""
        node = claim.node
        is_silent = node is None or node.process.is_dead or node.answered_since <= self._forgot_at
        return is_silent and self.almanac.is_forgotten(claim.job, claim.run.tick)

    def _judge_record(self, known: Mapping[str, Run], new: Job, record: Record) -> None:
        """What became of an attempt of which the store knew until now who does it."""
        self.counts[record.outcome] += 1
        what = f"{new.name} {record.tick:g}/{record.attempt}"
        if record.reason == FORGOTTEN and self.almanac.is_forgotten(new.name, record.tick):
            return
        told = record.tick, record.attempt, record.source, record.node
        of = [run for run in known.values() if (run.tick, run.attempt, run.source, run.node) == told]
        run = next((each for each in of if each.fence == record.fence), of[0] if of else None)
        if run is None or run.owner in {each.owner for each in new.running}:
            self.fault("C4", f"{record.outcome} was noted of {what}, which nobody did, or still does")
        elif run.fence != record.fence:
            self.fault("C4", f"{record.outcome} was noted of {what} with fence {record.fence}, not {run.fence}")
        elif record.outcome == "lost":
            self._judge_loss(what, run, record)
        else:
            claim = self._claims[run.owner]
            ending = None if claim.mine is None else claim.mine.ending
            if ending is None or ending.outcome != record.outcome or record.result != run.owner:
                self.fault("C4", f"{record.outcome} was noted of {what}, but {run.owner} said {ending}")

    def _judge_loss(self, what: str, run: Run, record: Record) -> None:
        """Only what was not renewed is lost, or what its node gave up; and nothing that was never begun."""
        claim, most = self._claims[run.owner], self._duties[self._claims[run.owner].job].terms.max_attempts
        if record.is_last != (run.attempt >= most or bool(run.cancelled_by)):
            self.fault("C6", f"{what} was lost, and is {'not ' if record.is_last else ''}begun once more: {most}")
        if record.reason == SHUT_DOWN:
            self.counts["given up"] += 1
            if claim.node is None or not claim.node.shift.is_leaving:
                self.fault("C4", f"{what} of {run.owner} was given up by a node that is not shut down")
        elif run.expires_at > self._server.clock():
            self.fault("C4", f"{what} of {run.owner} was given up before its time")
        elif claim.node is not None and not self.almanac.is_forgotten(claim.job, run.tick):
            if not self.come_twice and claim.mine is None and claim.node.answered_since > claim.at:
                self.fault("C4", f"{what} was lost, though {run.owner} never began it and could have handed it back")
            if claim.node.answered_since > claim.ended_at:
                self.fault("C4", f"{what} was lost, though {run.owner} had ended and could have said so")

    # What nodes do.

    def handed_over(self, process: Process, mine: Underway) -> None:
        """A node gives a run to its crew."""
        if self._trace is not None:
            self.note(process.name, f"takes on {mine.job} {mine.run}")
        if mine.policy:
            self._loose[mine.owner] = mine
            if mine.run.tick > self._server.clock():  # it comes yet, by the store's clock
                self._early.add(mine.owner)
        elif (claim := self._claims.get(mine.owner)) is not None:
            claim.mine = mine

    def began(self, process: Process, mine: Underway) -> None:
        """A body begins."""
        what = f"{mine.job} {mine.run.tick:g}/{mine.run.attempt}"
        self.note(process.name, f"begins {what} as {mine.owner}")
        self.counts["begun without the store" if mine.policy else "begun"] += 1
        self._judge_alone(process, mine)
        if not mine.policy:
            self._judge_beginning(mine, what)
            self._judge_overlap(mine, what)
        self._bodies.append((process, mine))

    def ended(self, mine: Underway) -> None:
        """A body has ended."""
        self.note(mine.run.node, f"ends {mine.job} {mine.run.tick:g}/{mine.run.attempt}: {mine.ending}")
        self._bodies = [(process, other) for process, other in self._bodies if other is not mine]
        if not mine.forsaken and (claim := self._claims.get(mine.owner)) is not None:
            claim.ended_at = self._server.agenda.now

    def _judge_beginning(self, mine: Underway, what: str) -> None:
        claim = self._claims.get(mine.owner)
        if claim is None or claim.fence != mine.run.fence:
            self.fault("C1", f"{what} is begun by {mine.owner} with fence {mine.run.fence}, which was never granted")
            return
        sheet = self._server.jobs.kept.get(mine.job)
        owners = () if sheet is None else {run.owner for run in job_of(sheet).running}
        if mine.owner not in owners and not self._is_deceived(mine):
            self.fault("C1", f"{what} is begun by {mine.owner}, who has it no more")
        for other in self._same[claim.key]:
            if other.has_begun and not ({other.run.owner, claim.run.owner} & (other.unaware | claim.unaware)):
                self.fault("C1", f"{what} is begun by {mine.owner}, and was by {other.run.owner}")
            self.counts["begun again, as the store forgot"] += other.has_begun
        claim.has_begun = True

    def _judge_overlap(self, mine: Underway, what: str) -> None:
        if mine.terms.overlap == "allow":
            return
        for process, other in self._bodies:
            believes = not (process.is_dead or other.forsaken or other.policy or other.is_lost(process.clock()))
            if other.job == mine.job and believes and not self._is_deceived(other):
                self.fault("C5", f"{what} is begun by {mine.owner}, while {other.owner} does {other.run.tick:g}")

    def _judge_alone(self, process: Process, mine: Underway) -> None:
        """C7, by whichever of the two it was run first."""
        key = process.name, mine.job, mine.run.tick
        same = self._same[mine.job, mine.run.tick, 1, "schedule"]
        others = [claim for claim in same if claim.node is not None and claim.node.process is not process]
        if mine.owner in self._early or mine.run.attempt > 1 or others:  # who has it may hand it back
            return
        if key in self._alone and (mine.policy or self._alone[key]) and not self.almanac.has_jumped_back:
            how = mine.policy or "the store"
            self.fault("C7", f"{process.name} runs {mine.run.tick:g} by {how}, and did by {self._alone[key]!r}")
        self._alone.setdefault(key, mine.policy)

    def _is_deceived(self, mine: Underway) -> bool:
        """Whether the store's memory or clock deceives its node, and its next renewal is not to be answered yet."""
        return self._server.agenda.now < self._deceived_at + 1.1 * mine.terms.ttl

    def told(self, process: Process, event: Event) -> None:
        """A process reports an event."""
        if (node := self.nodes.get(process.name)) is not None:
            node.hear(event)
        if self._trace is not None:
            self.note(process.name, repr(event))

    # What befalls the store.

    def true_time(self) -> float:
        """What a clock says that was never set."""
        return 1_000.0 + self._server.agenda.now

    def jumped(self, by: float) -> None:
        """The store's clock was set."""
        self._deceived_at = self._server.agenda.now
        self.almanac.has_jumped_back |= by < 0
        self._fences_may_fall()

    def forgot(self, since: float) -> None:
        """The store knows nothing any more of what it was told since then."""
        self._deceived_at = self._forgot_at = self._server.agenda.now
        self.almanac.forgot(since)
        self._fences_may_fall()

    def _fences_may_fall(self) -> None:
        """Fences rise while the store remembers the last one, or its clock is ahead of it; else they cannot."""
        if max(self._server.clock() * 1e6, self._server.last_fence) <= self._highest_fence:
            self._highest_fence = self._server.last_fence

    # The end.

    def failed(self, process: Process, error: BaseException) -> None:
        """A task ended by an error that nothing explains."""
        self.fault("C0", f"a task of {process.name} ended by {error!r}")

    def judge_left(self) -> None:
        """Who has left has nothing in its hands."""
        for sheet in self._server.jobs.kept.values():
            for run in job_of(sheet).running:
                claim = self._claims[run.owner]
                if claim.node is not None and claim.node.has_left:
                    self.fault("C6", f"{sheet.name} {run.tick:g} is still done by {run.owner}, whose node has left")
