"""A job as its fleet knows it: by which rule it is due, on which terms it is run, and its runs that have not ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dibs.model.calendar.jitter import due_at
from dibs.model.calendar.text import rule_of
from dibs.model.sheet import Sheet
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.calendar.rule import Rule

T = TypeVar("T")

Overlap = Literal["skip", "queue", "cancel", "allow"]
CatchUp = Literal["latest", "all", "none"]
Source = Literal["schedule", "outage"]
"""Why there is a run: its tick came, or it came while the store was silent and a node went by its own clock."""
Outcome = Literal["ok", "failed", "timeout", "lost", "cancelled", "skipped", "missed"]


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

    @property
    def is_running(self) -> bool:
        """Whether somebody does it; else it waits to be begun."""
        return bool(self.owner)


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

    @property
    def calendar(self) -> Rule:
        """The rule it is due by."""
        return _calendar(self.rule)

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

    def due_at(self, tick: float) -> float:
        """When a tick is to be run: a little later, if there is jitter."""
        return due_at(self.calendar, tick, name=self.name)

    def acts_at(self) -> float | None:
        """When there is something to do about it, should nothing happen before."""
        moments = [run.expires_at for run in self.running]
        if self.terms.overlap == "allow" or not moments:
            moments += [run.not_before for run in self.waiting]
        if self.next_due is not None:
            moments.append(self.due_at(self.next_due))
        return min(moments, default=None)

    def text(self) -> str:
        """All of it but the name and the revision, for the sheet."""
        runs = [_spare(run) for run in self.runs]
        terms = _spare(self.terms)
        told = {"format": FORMAT, "rule": self.rule, "version": self.version, "due": self.next_due, "terms": terms}
        return _written({**told, "runs": runs} if runs else told)


def job_of(sheet: Sheet) -> Job:
    """The job that is on this sheet."""
    told = json.loads(sheet.text)
    if told["format"] != FORMAT:
        raise ValueError(f"the sheet of {sheet.name!r} is of format {told['format']}; upgrade dibs here and restart")
    runs = tuple(Run(**run) for run in told.get("runs", ()))
    begun = tuple(_with_fence(run, sheet.revision) for run in runs)
    terms = Terms(**told["terms"])
    return Job(sheet.name, sheet.revision, told["version"], told["rule"], terms, told["due"], begun)


@value
class Record:
    """What became of an attempt, or of a tick for which there was none: a line of a job's history."""

    tick: float
    outcome: Outcome
    at: float
    """When that was known."""
    reason: str = ""
    attempt: int = 1
    source: Source = "schedule"
    is_last: bool = True
    """Whether this is the end of it; else another attempt follows."""
    node: str = ""
    fence: int = 0
    started_at: float = 0.0
    ended_at: float = 0.0
    result: str | None = None
    error: str | None = None
    progress: float | None = None
    note: str = ""
    log: tuple[str, ...] = ()

    @property
    def lateness(self) -> float:
        """By how many seconds it was begun after its tick; 0 if it was not."""
        return max(self.started_at - self.tick, 0.0) if self.started_at else 0.0

    @property
    def duration(self) -> float:
        """How many seconds it took."""
        return self.ended_at - self.started_at if self.started_at else 0.0

    def text(self) -> str:
        """All of it, for the history."""
        return _written(_spare(self))


def record_of(text: str) -> Record:
    """What a line of the history says."""
    told = json.loads(text)
    told["log"] = tuple(told.get("log", ()))
    return Record(**told)


def _with_fence(run: Run, revision: int) -> Run:
    return replace(run, fence=revision) if run.is_running and not run.fence else run


def _written(told: Mapping[str, Any]) -> str:
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _spare(told: Terms | Run | Record) -> dict[str, Any]:
    """What is not as it always is."""
    each = ((name, default, getattr(told, name)) for name, default in _DEFAULTS[type(told).__name__].items())
    return {name: now for name, default, now in each if now != default}


_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    kind.__name__: {field.name: field.default for field in fields(kind)} for kind in (Terms, Run, Record)
}


@cache
def _calendar(text: str) -> Rule:
    return rule_of(text)
