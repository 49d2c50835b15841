"""Watches that what people did holds.

C8 what somebody did holds from when the store took it, and its line is in the history: no tick is begun of a pause, of
an old version, or that is to be skipped; nothing that was cancelled; nothing at all while the fleet is frozen. A node
that runs jobs without the store knows of it if it has heard the store since · C9 what was asked for is begun, with its
own arguments, or it is told why not · C10 a backfill runs its own ticks, each once, never more at once than it may, and
comes to its end.

What the store has forgotten, it was not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter
from typing import TYPE_CHECKING

from dibs.flows.sheets import readable
from dibs.flows.shift import LOOK_EVERY
from dibs.model.calendar.text import rule_of
from dibs.model.control import APART
from dibs.model.job import Job, Run
from dibs.model.record import Act, noted
from dibs.testing.simulation.cron.ledger import Fill, Intent, Ledger, Standing
from dibs.testing.simulation.cron.matter import SCHEDULED, Matter, matter_of

if TYPE_CHECKING:
    from dibs.flows.duty import Underway
    from dibs.testing.simulation.cron.almanac import Almanac, Judge
    from dibs.testing.simulation.cron.node import Node
    from dibs.testing.simulation.cron.server import CronServer


class Warden:
    """Knows what people wanted, and what the store took of it."""

    def __init__(self, judge: Judge, server: CronServer, almanac: Almanac) -> None:
        self._judge, self._server, self._almanac = judge, server, almanac
        self.ledger = Ledger(server.agenda)
        self._claimed: set[Matter] = set()

    # What people say and hear.

    def intends(self, reason: str, intent: Intent) -> None:
        """Somebody is about to ask for this."""
        self.ledger.intents[reason] = intent

    def acknowledged(self, reason: str) -> None:
        """Somebody was told that it is done."""
        if reason not in self.ledger.taken:
            intent = self.ledger.intents[reason]
            self._fault("C8", f"{intent.by} was told that {intent.job} is {intent.deed}, and no line says so")

    # What the store does.

    def saw_change(self, old: Job | None, new: Job, acts: Sequence[Act]) -> None:
        """Hold one change of a job against what was said of it; steps are the usher's."""
        if new.is_step:
            return
        for act in acts:
            self._judge_act(new, act)
            self.ledger.take(old, new, act)
        if new.backfill is not None:
            self._judge_fill(new)
            return
        stands = self.ledger.book.standings.get(new.name)
        if stands is None:
            self._fault("C8", f"{new.name} is there, and nobody has added it")
            return
        if old is None or old.version != new.version:
            if not acts:
                self._fault("C8", f"{new.name} is of version {new.version}, and nothing says who did that")
            self._judge_first(new, stands)
        self._judge_pause(new, stands)
        known = () if old is None else {matter_of(old, run) for run in old.runs}
        for run in new.runs:
            if run.source == "schedule" and matter_of(new, run) not in known:
                self._judge_tick(new, run, stands)

    def saw_fleet(self, text: str, acts: Sequence[Act]) -> None:
        """The fleet's own sheet was changed."""
        for act in acts:
            if act.act == "frozen":
                self.ledger.freeze(act)
        if '"frozen":null' not in text.replace(" ", ""):
            return
        thawed = next((act for act in acts if act.act == "thawed"), None)
        if thawed is None and self._server.clock() < self.ledger.book.frozen_until:
            self._fault("C8", "the fleet goes on before the time of its freeze is over")
        self.ledger.melt(thawed)

    def _judge_act(self, job: Job, act: Act) -> None:
        intent = self.ledger.intents.get(act.reason)
        if intent is None:
            return
        if (act.by, act.act, job.belongs_to) != (intent.by, intent.deed, intent.job):
            self._fault("C8", f"{intent.by} wanted {intent.job} {intent.deed}, and the history says {act}")

    def _judge_first(self, job: Job, stands: Standing) -> None:
        """A new version begins with the first tick from then on that nobody has dealt with."""
        if stands.opens_at == inf:
            if job.next_due is not None:
                self._fault("C8", f"{job.name} is due at {job.next_due:g}, though it is paused or gone")
            return
        tick = rule_of(stands.rule).after(stands.opens_at)
        while tick is not None and tick != job.next_due:
            matter = job.name, tick, SCHEDULED
            if tick not in stands.skipped and not self._almanac.was_dealt_with(matter):
                since = f"by {stands.rule!r} from {stands.opens_at:g} on"
                self._fault("C8", f"{job.name} is {since}, and due at {job.next_due}, not {tick:g}")
                return
            tick = rule_of(stands.rule).after(tick)

    def _judge_pause(self, job: Job, stands: Standing) -> None:
        said = -inf if job.pause is None else inf if job.pause.until is None else nextafter(job.pause.until, 0.0)
        if said != stands.paused_until:
            self._fault("C8", f"{job.name} is paused until {said:g}, and people said {stands.paused_until:g}")

    def _judge_tick(self, job: Job, run: Run, stands: Standing) -> None:
        if self._almanac.is_forgotten(matter_of(job, run)):
            return
        if why := _not_to_be_run(run.tick, stands):
            self._fault("C8", f"{job.name} {run.tick:g} is to be run, though {why}")

    def judge_grant(self, job: Job, run: Run) -> None:
        """A node was given a run."""
        book, matter = self.ledger.book, matter_of(job, run)
        self._claimed.add(matter)
        if self._server.clock() < book.frozen_until:
            self._fault("C8", f"{job.name} {run.tick:g} was claimed by {run.owner} while the fleet is frozen")
        if self._almanac.is_forgotten(matter):
            return
        if matter in book.cancelled and job.name not in self._almanac.run_alone:
            self._fault("C8", f"{job.name} {run.tick:g} was claimed by {run.owner}, though it was cancelled")
        if run.source == "trigger" and matter not in book.asked_for:
            self._fault("C9", f"{job.name} {run.tick:g} was claimed by {run.owner}, and nobody asked for it")

    def _judge_fill(self, sheet: Job) -> None:
        fill = self.ledger.book.fills.get(sheet.name)
        if fill is None or self.ledger.forgot_at > fill.since:
            return
        runs = [run for run in sheet.runs if not run.is_running or matter_of(sheet, run) in self._claimed]
        strange = [run.tick for run in runs if run.tick not in fill.ticks]
        if strange:
            self._fault("C10", f"{sheet.name} runs {strange}, which is not among its ticks")
        if len(runs) > fill.parallel:
            self._fault("C10", f"{sheet.name} has {len(runs)} runs under way, and may have {fill.parallel}")
        if sheet.next_due is None and not sheet.runs and not fill.is_given_up and sheet.gone is None:
            self._judge_filled(sheet, fill)

    def _judge_filled(self, sheet: Job, fill: Fill) -> None:
        self._judge.counts["backfills done"] += 1
        for tick in fill.ticks:
            ends = self._almanac.ends(matter_of(sheet, Run(tick, source="backfill")))
            if ends != 1:
                self._fault("C10", f"{sheet.name} is done, and {tick:g} has {ends} last records")

    # What nodes do.

    def judge_beginning(self, mine: Underway) -> None:
        """A node gives a run to its crew."""
        arguments = self.ledger.book.asked_for.get((mine.job, mine.run.tick, "trigger"))
        if mine.run.source == "trigger" and arguments and mine.arguments != arguments:
            self._fault("C9", f"{mine.job} {mine.run.tick:g} was asked for with {arguments}, not {mine.arguments}")

    def judge_alone(self, node: Node, mine: Underway) -> None:
        """A node begins something without the store."""
        book = self.ledger.book
        if book.frozen_since < node.answered_since and book.frozen_until == inf:
            self._fault("C8", f"{node.process.name} runs {mine.job} {mine.run.tick:g}, and knows that all is frozen")
        stands = book.standings.get(mine.job)
        knows_since = node.answered_since - 1.1 * LOOK_EVERY
        if stands is not None and stands.since < knows_since and (why := _not_to_be_run(mine.run.tick, stands)):
            self._fault("C8", f"{node.process.name} runs {mine.job} {mine.run.tick:g}, and knows that {why}")

    # The end.

    def judge_remains(self) -> None:
        """When all has been well for a while."""
        self._judge_lines()
        waits = {matter_of(job, run) for job in readable(list(self._server.jobs.kept.values())) for run in job.runs}
        for matter in self.ledger.book.asked_for:
            if matter in waits or self._almanac.is_forgotten(matter):
                continue
            if matter not in self._claimed and not self._almanac.was_dropped(matter):
                self._fault("C9", f"{matter[0]} {matter[1]:g} was asked for, and never begun")

    def _judge_lines(self) -> None:
        histories = self._server.jobs.histories.values()
        told = {noted(each.entry.text).reason for history in histories for each in history.noted}
        for reason in self.ledger.book.lines - told:
            self._fault("C8", f"{self.ledger.intents[reason]} was done, and its line is gone")

    def _fault(self, invariant: str, what: str) -> None:
        self._judge.fault(invariant, what)


def _not_to_be_run(tick: float, stands: Standing) -> str:
    """Why a tick is not to be run, by what people said; nothing if it is."""
    if tick <= stands.opens_at:
        return f"it is paused, or by its schedule only from {stands.opens_at:g} on"
    if tick in stands.skipped:
        return "it is to be skipped"
    return "" if rule_of(stands.rule).after(tick - APART) == tick else f"{stands.rule!r} has no such tick"
