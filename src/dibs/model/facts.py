"""What is known about a tick: the facts from which it is told why it did or did not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import inf
from typing import TYPE_CHECKING, Literal

from dibs.model.calendar.jitter import due_at
from dibs.model.calendar.text import rule_of
from dibs.model.duration import spoken
from dibs.model.eras import SLACK, Era, Span, Version, absences, era, freezes, other_versions, over, pauses, silences
from dibs.model.fleet import Fleet
from dibs.model.ticks import last_tick, moment
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.job import Job, Pause, Run
    from dibs.model.record import Act, Record

Verdict = Literal[
    "ran",
    "ran late",
    "running",
    "waiting",
    "not due yet",
    "paused",
    "frozen",
    "skipped",
    "overlap",
    "no live node",
    "no function",
    "no label",
    "outside grace",
    "store down",
    "missed",
    "superseded",
    "lost",
    "cancelled",
    "gone",
    "no tick",
    "unknown",
]
NOTICEABLE = 1.0
"""Seconds by which anything may be late: nodes look twice in that time."""
TURNS = frozenset({"paused", "changed", "removed", "retired"})
"""What changes when a job is due."""
ROUNDING = 2e-6
"""People name moments in whole microseconds."""


@value
class Answer:
    """Why a tick did or did not run."""

    verdict: Verdict
    words: str
    tick: float | None = None
    records: Sequence[Record] = ()
    acts: Sequence[Act] = ()


@value
class Facts:
    """All that is known about a job around a moment that was asked for. What was done is given the oldest first."""

    name: str
    at: float
    now: float
    job: Job | None = None
    acts: Sequence[Act] = ()
    nearest: Record | None = None
    """What became of the last tick at or before the moment, of which anything is known."""
    records: Sequence[Record] = ()
    """What became of the tick that is meant."""
    earlier: Sequence[Record] = ()
    """What became of some ticks before it, the latest first."""
    events: Sequence[Act] = ()
    """What happened to the whole fleet around it."""
    fleet: Fleet = field(default_factory=lambda: Fleet(0.0))
    freeze: Pause | None = None
    beside: int = 0
    """So many others its node ran when it was due."""
    reaches_back: bool = True
    """Whether the history goes back as far as the tick."""

    @property
    def era(self) -> Era:
        """What the job was at that moment."""
        return era(self.job, self.acts, self.at)

    @property
    def runs(self) -> Sequence[Run]:
        """What has not ended of it."""
        return () if self.job is None else self.job.runs

    def was_overtaken(self, record: Record) -> bool:
        """Whether it was noted by what people did before anybody had begun it: then that is what there is to tell."""
        turns = {act.at for act in self.acts if act.act in TURNS}
        return record.outcome == "skipped" and record.at in turns

    def tick(self) -> float | None:
        """The tick that is meant: the last at or before the moment, by its rule of that time or by what was noted."""
        known = [run.tick for run in self.runs if run.source != "backfill" and run.tick <= self.at + ROUNDING]
        known += [] if self.nearest is None else [self.nearest.tick]
        scheduled = self.era.last_tick(self.at + ROUNDING)
        return max([*known, *([] if scheduled is None else [scheduled])], default=None)

    def superseded(self) -> tuple[float, Version, Act] | None:
        """A tick of an earlier or later version that is meant rather, and what began the later, or ended the earlier.

        It is meant if it is the very moment, or if the rule has changed between the last tick and the moment.
        """
        meant, found = self.tick(), list[tuple[float, "Version", "Act"]]()
        for version in other_versions(self.acts, self.era):
            tick = last_tick(rule_of(version.rule), self.at + ROUNDING)
            if tick is None or (meant is not None and tick <= meant):
                continue
            if (turn := self._turn(version, tick, meant)) is not None:
                found.append((tick, version, turn))
        return found[-1] if found else None

    def _turn(self, version: Version, tick: float, meant: float | None) -> Act | None:
        turn, is_it = self.era.turn, abs(tick - self.at) <= ROUNDING
        if version.since > tick:
            return version.turn if is_it else None
        has_changed = turn is not None and (meant is None or meant < turn.at)
        return turn if is_it or has_changed else None

    def due_at(self, tick: float) -> float:
        """When that tick was to be run."""
        calendar = self.era.calendar
        return tick if calendar is None else due_at(calendar, tick, name=self.name)

    # What held at a moment.

    def pause_over(self, tick: float) -> Span | None:
        """The pause that the tick fell into."""
        return over(pauses(self.job, self.acts), tick)

    def freeze_over(self, due: float) -> Span | None:
        """The freeze that held then."""
        return over(freezes(self.freeze, self.events), due)

    def silence_over(self, due: float) -> Span | None:
        """The time without the store that it fell into."""
        return over(silences(self.events), due, slack=SLACK)

    def absence_over(self, due: float) -> Span | None:
        """The time without nodes that it fell into."""
        return over(absences(self.events), due)


def said(by: str, reason: str) -> str:
    """Who did something, and why."""
    return f"by {by}" + (f" ({reason})" if reason else "")


def lasting(span: Span) -> str:
    """From when to when something held."""
    if span.since == -inf:
        return f"before {moment(span.until)}"
    return f"from {moment(span.since)} " + ("on" if span.until == inf else f"to {moment(span.until)}")


def late(seconds: float) -> str:
    """By how much something was late; nothing if it hardly was."""
    return f", {spoken(seconds)} late" if seconds >= NOTICEABLE else ""
