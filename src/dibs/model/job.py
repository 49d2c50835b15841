"""A job as its fleet knows it: by which rule it is due, on which terms it is run, and its runs that have not ended.

Several may be done by one function, each by a schedule and with arguments of its own; what is to be done for times
long past is on a sheet beside the job's own (see `Backfill`), and so is each of its steps (see `dibs.model.steps`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import inf, nextafter
from typing import TYPE_CHECKING, Literal

from dibs.model.calendar.jitter import due_at
from dibs.model.calendar.text import rule_of
from dibs.model.names import STEP, WORKER
from dibs.model.record import Record
from dibs.model.spare import spare, written
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.calendar.rule import Rule
    from dibs.model.record import Source

Overlap = Literal["skip", "queue", "cancel", "allow"]
CatchUp = Literal["latest", "all", "none"]
Origin = Literal["code", "data"]
BACKFILL = "~backfill"
LEEWAY = 2.0
"""For so many seconds a node may be about to stop a step that has taken too long."""

PARTS = frozenset({"terms", "pause", "backfill", "gone", "last"})
"""What of a job is a value of its own."""
FORMAT = 1
"""Who meets a sheet of another format leaves the job to those who know it."""


@value
class Terms:
    """On which terms a job is run."""

    overlap: Overlap = "skip"
    """What a tick does whose predecessor is still being run."""
    catch_up: CatchUp = "latest"
    """Which ticks are run of those that nobody was there for."""
    most: int = 100
    """So many of them at the most, where all are."""
    grace: float = 3600.0
    """So late may a tick be started."""
    retries: int = 0
    retry_delay: float = 1.0
    timeout: float | None = None
    expect: float | None = None
    max_attempts: int = 1
    """So often is a run begun whose node may have died in the middle of it."""
    ttl: float = 30.0
    keep: int = 1_000
    keep_for: float = 30 * 86_400.0
    labels: tuple[str, ...] = ()
    """It is run only by nodes that have all of these."""


@value
class Run:
    """What is to be done for a tick, or is being done by a node: then it has an owner."""

    tick: float
    attempt: int = 1
    source: Source = "schedule"
    not_before: float = 0.0
    failures: int = 0
    owner: str = ""
    node: str = ""
    fence: int = 0
    """Of a run that was begun by the very change that made this revision of the sheet: 0, as it is that revision."""
    started_at: float = 0.0
    expires_at: float = 0.0
    cancelled_by: str = ""
    """Why its node is asked to stop it."""
    progress: float | None = None
    note: str = ""
    arguments: str = ""
    """With which it is done, if not with those of its job: a JSON object."""

    @property
    def is_running(self) -> bool:
        """Whether somebody does it; else it waits to be begun."""
        return bool(self.owner)

    @property
    def has_tick(self) -> bool:
        """Whether it is for a moment that the calendar names; else it was asked for."""
        return self.source not in {"trigger", "step"}

    def stopped(self, why: str) -> Run:
        """It, if its node is to stop it; the first to say so is the reason."""
        return replace(self, cancelled_by=self.cancelled_by or why) if self.is_running else self

    def again(self, not_before: float, attempt: int) -> Run:
        """It, if it is to be begun once more."""
        return Run(self.tick, attempt, self.source, not_before, self.failures, arguments=self.arguments)


@value
class Pause:
    """Somebody has said that no tick is to be run for a while: `until` a moment, or until somebody says otherwise."""

    by: str
    at: float
    reason: str = ""
    until: float | None = None

    def holds(self, now: float) -> bool:
        """Whether it is not over."""
        return self.until is None or now < self.until


@value
class Backfill:
    """Ticks long past that are to be run: those up to this one, so many at once. The next is where the sheet says."""

    until: float
    parallel: int
    by: str
    at: float
    reason: str = ""


@value
class Gone:
    """It is not run any more, and its sheet is only kept for its history."""

    how: Literal["removed", "retired", "ended"]
    at: float


@value
class Job:
    """What is on a job's sheet."""

    name: str
    revision: int
    version: int
    """Counts the changes of when it is due."""
    rule: str
    terms: Terms
    next_due: float | None
    """The next tick; whatever is before it has been dealt with."""
    runs: tuple[Run, ...] = ()
    function: str = ""
    """Which function does it; its own name, if that is not said."""
    arguments: str = ""
    """With which that is called: a JSON object."""
    origin: Origin = "code"
    """Where it was last said what it is."""
    code: str = ""
    """Which of its definitions in code was the last to hold."""
    defined_at: float = 0.0
    """Since when what was last said is known in the fleet."""
    mark: float = 0.0
    """Ticks before this one stay dealt with, however the job is paused, resumed or removed and added anew."""
    pause: Pause | None = None
    backfill: Backfill | None = None
    gone: Gone | None = None
    last: Record | None = None
    """What came of its last attempt, of a step: so its sheet alone says how it stands."""

    @property
    def done_by(self) -> str:
        """The function that does it."""
        return self.function or self.name

    @property
    def belongs_to(self) -> str:
        """The job that it is, also if this is the sheet beside it."""
        return belongs_to(self.name)

    @property
    def is_step(self) -> bool:
        """Whether it is one piece of work of a job, to be done once."""
        return STEP in self.name

    @property
    def calendar(self) -> Rule:
        """The rule it is due by."""
        return calendar_of(self.rule)

    @property
    def running(self) -> tuple[Run, ...]:
        """What is being done."""
        return tuple(run for run in self.runs if run.is_running)

    @property
    def waiting(self) -> tuple[Run, ...]:
        """What is to be done, in the order in which it was put there."""
        return tuple(run for run in self.runs if not run.is_running)

    def run_of(self, owner: str) -> Run | None:
        """What this owner does."""
        return next((run for run in self.runs if run.owner == owner), None)

    def with_run(self, old: Run, *new: Run) -> Job:
        """With these in the place of that one."""
        place = self.runs.index(old)
        return replace(self, runs=(*self.runs[:place], *new, *self.runs[place + 1 :]))

    def unwanted(self, run: Run) -> str:
        """Why a run of it is not to be begun again; nothing if it may be."""
        return run.cancelled_by or ("" if self.gone is None else f"its schedule was {self.gone.how}")

    def due_at(self, tick: float) -> float:
        """When a tick is to be run: a little later, if there is jitter."""
        return due_at(self.calendar, tick, name=self.name)

    def is_paused(self, now: float) -> bool:
        """Whether no tick is run at this moment as somebody has said so."""
        return self.pause is not None and self.pause.holds(now)

    def due_from(self, now: float) -> float | None:
        """Its first tick from now on, if nothing was dealt with yet."""
        if self.gone is not None or (self.pause is not None and self.pause.until is None):
            return None
        over_at = now if self.pause is None or self.pause.until is None else nextafter(self.pause.until, 0.0)
        first = self.calendar.after(max(now, over_at))
        return None if first is None else max(first, self.mark)

    def marked(self, now: float) -> float:
        """Before which tick all were dealt with; by a pause they are only put off."""
        return self.mark if self.next_due is None or self.is_paused(now) else self.next_due

    def following(self, tick: float) -> float | None:
        """The tick after that one; `None` if it was the last that there is to fill in."""
        following = self.calendar.after(tick)
        is_over = following is not None and self.backfill is not None and following > self.backfill.until
        return None if is_over else following

    def acts_at(self) -> float | None:
        """When there is something to do about it, should nothing happen before."""
        moments = [min(run.expires_at, self.overdue_at(run)) for run in self.running]
        if self.terms.overlap == "allow" or not moments:
            moments += [run.not_before for run in self.waiting]
        if self.backfill is not None:
            moments += [self.backfill.at] if self.wants_more else []
        elif self.next_due is not None:
            moments.append(self.due_at(self.next_due))
        if (forget_at := self.forget_at) is not None:
            moments.append(forget_at)
        return min(moments, default=None)

    def overdue_at(self, run: Run) -> float:
        """When a step has outlived its timeout for so long that its node will not stop it."""
        timeout = self.terms.timeout if self.is_step else None
        return inf if timeout is None else run.started_at + timeout + LEEWAY

    @property
    def forget_at(self) -> float | None:
        """When it can be thrown away; `None` if it is not gone, or something of it is still under way."""
        return None if self.gone is None or self.runs else self.gone.at + self.terms.keep_for

    @property
    def wants_more(self) -> bool:
        """Whether there are ticks to fill in, and not as many under way as there may be."""
        return self.backfill is not None and self.next_due is not None and len(self.runs) < self.backfill.parallel

    def text(self) -> str:
        """All of it but the name and the revision, for the sheet."""
        told = spare(self)
        for name in ("name", "revision", "next_due"):
            told.pop(name, None)
        for name in PARTS & told.keys():
            told[name] = spare(told[name])
        if self.runs:
            told["runs"] = [spare(run) for run in self.runs]
        return written({"format": FORMAT, "due": self.next_due, **told})


def belongs_to(sheet: str) -> str:
    """The job whose sheet this is, or beside which it is."""
    if sheet.startswith(WORKER):
        return sheet.removeprefix(WORKER)
    return sheet.removesuffix(BACKFILL).partition(STEP)[0]


@lru_cache(10_000)
def calendar_of(text: str) -> Rule:
    """The rule of which this is the text."""
    return rule_of(text)
