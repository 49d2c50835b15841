"""Watches a fleet that runs jobs and says which promise was broken. Knows the truth that no node can see.

C1 a (job, tick, source, attempt) is begun at most once, by whom the store has granted it, before it is begun. Where the
store has forgotten the grant, it is not begun again once the node that had it lives on and has reached the store
since · C3 the fences of a job's attempts rise, and each keeps its own · C4 what came of a run is taken from its owner.

C2 and C6, of ticks, are the almanac's; C5 and C7, of what is being done, the bodies'; C8 to C10, of what people do, the
warden's; C11, of what code says, the rollout's; and C12, of steps, the usher's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from dibs.flows.duty import Underway
from dibs.flows.sheets import BESIDE, readable
from dibs.model.fleet import FLEET
from dibs.model.job import Job, Run
from dibs.model.reading import job_of
from dibs.model.record import Act, Record, noted
from dibs.model.reminders import FORGOTTEN
from dibs.model.rota import SHUT_DOWN
from dibs.testing.simulation.cron.almanac import Almanac
from dibs.testing.simulation.cron.bodies import Bodies
from dibs.testing.simulation.cron.claim import Claim
from dibs.testing.simulation.cron.matter import SCHEDULED, Matter, matter_of
from dibs.testing.simulation.cron.rollout import Rollout
from dibs.testing.simulation.cron.usher import Usher
from dibs.testing.simulation.cron.warden import Warden
from dibs.testing.simulation.minutes import Minutes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dibs.events import Event
    from dibs.model.sheet import Entry, Sheet
    from dibs.testing.simulation.cron.node import Node
    from dibs.testing.simulation.cron.server import CronServer
    from dibs.testing.simulation.process import Process


class CronReferee(Minutes):
    """Sees every change of a sheet and every body that begins or ends."""

    places = 2
    come_twice = False
    """Whether messages do: then the first may be granted, and its asker hear that the second was too late."""

    def __init__(self, server: CronServer, run_alone: Collection[str], trace: list[str] | None = None) -> None:
        super().__init__(server.agenda, trace)
        self._server = server
        self.nodes: dict[str, Node] = {}
        self.almanac = Almanac(self, server, run_alone)
        self.warden = Warden(self, server, self.almanac)
        self.rollout = Rollout(self, server, self.nodes)
        self.usher = Usher(self, server, self.almanac)
        self._claims: dict[str, Claim] = {}
        self._same: dict[tuple[Matter, int], list[Claim]] = defaultdict(list)
        self._bodies = Bodies(self, server, self.almanac)
        self._loose: dict[str, Underway] = {}
        self._highest_fence = 0
        self._forgot_at = -inf
        server.clerk = self

    # What the store does.

    def saw_change(self, before: Sheet | None, after: Sheet | None, entries: Sequence[Entry]) -> None:
        """Hold one change against the law."""
        told = [noted(entry.text) for entry in entries]
        acts = [each for each in told if isinstance(each, Act)]
        for act in acts:
            self.counts[act.act] += 1
        if after is not None and after.name == FLEET:
            self.warden.saw_fleet(after.text, acts)
        self.usher.saw_change(before, after)
        if after is None or after.name.startswith(BESIDE):
            return
        old, new = None if before is None else job_of(before), job_of(after)
        records = [each for each in told if isinstance(each, Record)]
        self._note_change(new, records, acts)
        for act in acts:
            self.rollout.saw_act(new, act)
        self._judge_runs(old, new, records)
        self.almanac.saw_change(old, new, records, acts)
        self.warden.saw_change(old, new, acts)

    def _note_change(self, job: Job, records: Sequence[Record], acts: Sequence[Act]) -> None:
        if self._trace is None:
            return
        runs = [f"{run.tick:g}/{run.attempt} {run.owner or 'waits'}" for run in job.runs]
        lines = [f"{record.tick:g}/{record.attempt} {record.outcome} {record.reason}" for record in records]
        lines += [f"{act.act} by {act.by} {act.reason}" for act in acts]
        self.note("store", f"{job.name} r{job.revision} due {job.next_due}: {runs} {lines or ''}")

    def _judge_runs(self, old: Job | None, new: Job, records: Sequence[Record]) -> None:
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

    def _judge_grant(self, job: Job, run: Run) -> None:
        self.counts["claims"] += 1
        if run.fence <= self._highest_fence:
            self.fault("C3", f"{run.owner} got fence {run.fence} after {self._highest_fence}")
        self._highest_fence = max(run.fence, self._highest_fence)
        self.warden.judge_grant(job, run)
        claim = self._claim(job, run)
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
        self._claims[run.owner] = claim = self._claim(job, run)
        claim.mine = mine

    def _claim(self, job: Job, run: Run) -> Claim:
        node = self.nodes.get(run.owner.rpartition(".")[0])
        return Claim(matter_of(job, run), run, node, run.fence, self._server.agenda.now)

    def _judge_return(self, job: Job, run: Run) -> None:
        """The store is told again of a run that it has forgotten."""
        self.counts["told again"] += 1
        claim = self._claims[run.owner]
        is_deceived = claim.mine is not None and self._bodies.is_deceived(
            claim.mine
        )  # its lease is over, by that clock
        if run.fence != claim.fence or not (is_deceived or self.almanac.is_forgotten(claim.matter)):
            self.fault("C3", f"{run.owner} came back with fence {run.fence}, though nothing was forgotten")
        self.almanac.note_forgotten(matter_of(job, run))  # of another backfill, if that was begun meanwhile

    def _is_unaware(self, claim: Claim) -> bool:
        """Whether the store has forgotten a claim, and who had it could not tell it again."""
        node = claim.node
        is_silent = node is None or node.process.is_dead or node.answered_since <= self._forgot_at
        return is_silent and self.almanac.is_forgotten(claim.matter)

    def _judge_record(self, known: Mapping[str, Run], new: Job, record: Record) -> None:
        """What became of an attempt of which the store knew until now who does it."""
        self.counts[record.outcome] += 1
        what = f"{new.name} {record.tick:g}/{record.attempt}"
        if record.reason == FORGOTTEN and self.almanac.is_forgotten(matter_of(new, record)):
            return
        told = record.tick, record.attempt, record.source, record.node
        of = [run for run in known.values() if (run.tick, run.attempt, run.source, run.node) == told]
        run = next((each for each in of if each.fence == record.fence), of[0] if of else None)
        if run is None or run.owner in {each.owner for each in new.running}:
            self.fault("C4", f"{record.outcome} was noted of {what}, which nobody did, or still does")
        elif run.fence != record.fence:
            self.fault("C4", f"{record.outcome} was noted of {what} with fence {record.fence}, not {run.fence}")
        elif record.outcome == "lost":
            self._judge_loss(what, run, record, most=1 if new.unwanted(run) else new.terms.max_attempts)
        elif not self.usher.may_be_taken(new, run, record):
            claim = self._claims[run.owner]
            ending = None if claim.mine is None else claim.mine.ending
            if record.outcome == "cancelled" and new.unwanted(run) and not claim.has_begun:
                return  # it was handed back
            if ending is None or ending.outcome != record.outcome or record.result != run.owner:
                self.fault("C4", f"{record.outcome} was noted of {what}, but {run.owner} said {ending}")

    def _judge_loss(self, what: str, run: Run, record: Record, *, most: int) -> None:
        """Only what was not renewed is lost, or what its node gave up; and nothing that was never begun."""
        claim = self._claims[run.owner]
        if record.is_last != (run.attempt >= most):
            self.fault("C6", f"{what} was lost, and is {'not ' if record.is_last else ''}begun once more: {most}")
        if record.reason == SHUT_DOWN:
            self.counts["given up"] += 1
            if claim.node is None or not claim.node.shift.is_leaving:
                self.fault("C4", f"{what} of {run.owner} was given up by a node that is not shut down")
        elif run.expires_at > self._server.clock():
            self.fault("C4", f"{what} of {run.owner} was given up before its time")
        elif claim.node is not None and not self.almanac.is_forgotten(claim.matter):
            if not self.come_twice and claim.mine is None and claim.node.answered_since > claim.at:
                self.fault("C4", f"{what} was lost, though {run.owner} never began it and could have handed it back")
            if claim.node.answered_before > claim.ended_at:  # after the first it may have to tell of it anew
                self.fault("C4", f"{what} was lost, though {run.owner} had ended and could have said so")

    # What nodes do.

    def handed_over(self, process: Process, mine: Underway) -> None:
        """A node gives a run to its crew."""
        if self._trace is not None:
            self.note(process.name, f"takes on {mine.job} {mine.run}")
        self.warden.judge_beginning(mine)
        if mine.policy:
            self._loose[mine.owner] = mine
            self.warden.judge_alone(self.nodes[process.name], mine)
            self._bodies.note_loose(mine)
        elif (claim := self._claims.get(mine.owner)) is not None:
            claim.mine = mine

    def began(self, process: Process, mine: Underway) -> None:
        """A body begins."""
        what = f"{mine.job} {mine.run.tick:g}/{mine.run.attempt}"
        self.note(process.name, f"begins {what} as {mine.owner}")
        self.counts["begun without the store" if mine.policy else "begun"] += 1
        if not mine.policy:
            self._judge_beginning(mine, what)
        same = self._same[(mine.job, mine.run.tick, SCHEDULED), 1]
        others = [claim for claim in same if claim.node is not None and claim.node.process is not process]
        self._bodies.began(process, mine, others_had_it=bool(others))

    def ended(self, mine: Underway) -> None:
        """A body has ended."""
        self.note(mine.run.node, f"ends {mine.job} {mine.run.tick:g}/{mine.run.attempt}: {mine.ending}")
        self._bodies.ended(mine)
        if not mine.forsaken and (claim := self._claims.get(mine.owner)) is not None:
            claim.ended_at = self._server.agenda.now

    def _judge_beginning(self, mine: Underway, what: str) -> None:
        claim = self._claims.get(mine.owner)
        if claim is None or claim.fence != mine.run.fence:
            self.fault("C1", f"{what} is begun by {mine.owner} with fence {mine.run.fence}, which was never granted")
            return
        sheet = self._server.jobs.kept.get(mine.job)
        owners = () if sheet is None else {run.owner for run in job_of(sheet).running}
        if mine.owner not in owners and not self._bodies.is_deceived(mine):
            self.fault("C1", f"{what} is begun by {mine.owner}, who has it no more")
        for other in self._same[claim.key] if mine.run.source != "outage" else ():
            if self.almanac.comes_again(claim.matter):
                continue
            if other.has_begun and not ({other.run.owner, claim.run.owner} & (other.unaware | claim.unaware)):
                self.fault("C1", f"{what} is begun by {mine.owner}, and was by {other.run.owner}")
            self.counts["begun again, as the store forgot"] += other.has_begun
        claim.has_begun = True

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
        self._bodies.deceived()
        self.almanac.has_jumped_back |= by < 0
        self.rollout.deceived()
        self._fences_may_fall()

    def forgot(self, since: float) -> None:
        """The store knows nothing any more of what it was told since then."""
        self._forgot_at = self._server.agenda.now
        self._bodies.deceived()
        self.almanac.forgot(since)
        self.warden.ledger.forget(since)
        self.usher.forgot(since)
        self.rollout.deceived()
        self._fences_may_fall()

    def _fences_may_fall(self) -> None:
        """Fences rise while the store remembers the last one, or its clock is ahead of it; else they cannot."""
        if max(self._server.clock() * 1e6, self._server.last_fence) <= self._highest_fence:
            self._highest_fence = self._server.last_fence

    # The end.

    def failed(self, process: Process, error: BaseException) -> None:
        """A task ended by an error that nothing explains."""
        self.fault("C0", f"a task of {process.name} ended by {error!r}")

    def judge_remains(self) -> None:
        """When all has been well for a while."""
        self.almanac.judge_remains()
        self.warden.judge_remains()
        self.usher.judge_remains()
        self.rollout.judge_remains()

    def judge_left(self) -> None:
        """Who has left has nothing in its hands."""
        for job in readable(list(self._server.jobs.kept.values())):
            for run in job.running:
                claim = self._claims[run.owner]
                if claim.node is not None and claim.node.has_left:
                    self.fault("C6", f"{job.name} {run.tick:g} is still done by {run.owner}, whose node has left")
