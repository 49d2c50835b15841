"""What is noted of a job for good: what became of its ticks, and what people have done to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from dibs.model.sheet import Entry
from dibs.model.spans import filed
from dibs.model.spare import known, spare, written
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.sheet import Line

Source = Literal["schedule", "outage", "trigger", "backfill", "step", "worker"]
"""Why there is a run: its tick came, or came by a node's own clock while the store was silent; or somebody asked."""
LATE: frozenset[Source] = frozenset({"backfill", "step"})
"""What may be done long after its tick: it is noted by when it was known what came of it."""
Outcome = Literal["ok", "failed", "timeout", "lost", "cancelled", "skipped", "missed"]
Deed = Literal[
    "added",
    "changed",
    "removed",
    "retired",
    "paused",
    "resumed",
    "triggered",
    "submitted",
    "skipped next",
    "cancelled",
    "backfill",
    "frozen",
    "thawed",
    "silent",
    "unattended",
]

RUNS, ACTS, RAN = "~runs", "~acts", "~ran:"


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
    version: int = 0
    """Of the schedule, when the tick was dealt with."""
    result: str | None = None
    error: str | None = None
    progress: float | None = None
    note: str = ""
    log: tuple[str, ...] = ()
    since: float | None = None
    """From which tick on this is told of all of them, up to its own."""

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
        return written(spare(self))

    def entry(self, sheet: str, job: str) -> Entry:
        """As it is noted with a sheet of this job's: by its tick, unless what is done may be done long after it."""
        at = self.at if self.source in LATE else self.tick
        tags = [RUNS, of_state(self.outcome), of_state(self.outcome, job)]
        if self.source == "backfill":
            tags.append(of_tick(job, self.tick))
        if sheet != job:
            tags.append(job)
        if self.node:
            tags += [of_node(self.node), of_node(self.node, self.outcome), filed(RAN, self.started_at, self.ended_at)]
        return Entry(at, self.text(), tuple(tags))


@value
class Act:
    """What somebody has done to a job, or to the whole fleet."""

    act: Deed
    at: float
    by: str
    reason: str = ""
    until: float | None = None
    since: float | None = None
    tick: float | None = None
    """Of which tick, if it is about one."""
    version: int = 0
    """Of the schedule, from then on."""
    told: str = ""
    """What it is from then on, or was until then."""
    was: str = ""
    """The rule until then, if another one holds from then on."""

    def text(self) -> str:
        """All of it, for the history."""
        return written(spare(self))

    def entry(self, sheet: str, job: str) -> Entry:
        """As it is noted with a sheet of this job's."""
        tags = (ACTS, of_acts(job))
        return Entry(self.at, self.text(), tags if sheet == job else (*tags, job))


def noted(text: str) -> Record | Act:
    """What a line of the history says."""
    told = json.loads(text)
    if "act" in told:
        return Act(**known(Act, told))
    return Record(**known(Record, {**told, "log": tuple(told.get("log", ()))}))


def records_of(lines: Sequence[Line]) -> Sequence[Record]:
    """What those of the lines say that tell of ticks."""
    return [told for line in lines if isinstance(told := noted(line.text), Record)]


def of_state(outcome: str, job: str = "") -> str:
    """The index of all runs, or of a job's, that ended so."""
    return f"~state {outcome} {job}".rstrip()


def of_node(node: str, outcome: str = "") -> str:
    """The index of all runs of a node's, or of those that ended so."""
    return f"~{outcome} on {node}" if outcome else f"~on {node}"


def of_acts(job: str) -> str:
    """The index of what people have done to a job."""
    return f"{ACTS} {job}"


def of_tick(job: str, tick: float) -> str:
    """The index of what was done for a tick long after it."""
    return f"~tick {float(tick)!r} {job}"
