"""Which ticks have come, which of them are to be run, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dibs.model.duration import spoken
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.calendar.rule import Rule
    from dibs.model.job import Job

PUNCTUAL = 10.0
"""Who begins within so many seconds is not late."""
MOST_TOLD = 1_000
"""Of ticks that nobody was there for, the latest are told one by one, and those before them together."""
NARROWEST = 60.0
FIRST_STEP = 1.0
BEFORE_ALL = -1.0
"""Nothing is due before 1970."""
OUTSIDE_GRACE = "and its grace is"


@value
class Come:
    """A tick that has come; with the reason if it is not to be run."""

    tick: float
    missed: str = ""
    since: float | None = None
    """It stands for all from that one on."""


def ticks_come(job: Job, now: float) -> Sequence[Come]:
    """The ticks that have come by now, in their order."""
    ticks, before = _latest(job, now)
    chosen = set(_chosen(job, ticks, now))
    told = [Come(tick, "" if tick in chosen else _why(job, tick, now)) for tick in ticks]
    if before is None or job.next_due is None:
        return told
    why = f"nobody was there for it, nor for any before it since {moment(job.next_due)}"
    return [Come(before, why, since=job.next_due), *told]


def last_tick(rule: Rule, by: float) -> float | None:
    """The last tick at or before a moment; `None` if there is none."""
    known = rule.after(BEFORE_ALL)
    width = FIRST_STEP
    while known is not None and by - width > known:
        if (found := rule.after(by - width)) is not None and found <= by:
            known = found
            break
        width *= 4
    return None if known is None or known > by else _last(rule, known, by)


def _last(rule: Rule, known: float, by: float) -> float:
    """The last one, halving each time what may lie between it and the one that is known."""
    beyond = by
    while (following := rule.after(known)) is not None and following <= by:
        found = rule.after(known + (beyond - known) / 2)
        if found is not None and found <= by:
            known = found
        else:
            beyond, known = known + (beyond - known) / 2, following
    return known


def moment(at: float) -> str:
    """A moment as people read it."""
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")


def _chosen(job: Job, ticks: Sequence[float], now: float) -> Sequence[float]:
    """Those that are to be run."""
    if job.terms.catch_up == "none":
        return [tick for tick in ticks[-1:] if _late(job, tick, now) <= min(PUNCTUAL, job.terms.grace)]
    in_time = [tick for tick in ticks if _late(job, tick, now) <= job.terms.grace]
    return in_time[-job.terms.most :] if job.terms.catch_up == "all" else in_time[-1:]


def _why(job: Job, tick: float, now: float) -> str:
    late, grace = _late(job, tick, now), job.terms.grace
    if late > grace:
        return f"it came {spoken(late)} ago, {OUTSIDE_GRACE} {spoken(grace)}"
    if job.terms.catch_up == "all":
        return f"there were more than {job.terms.most} to catch up with"
    instead = "a later one was run instead" if job.terms.catch_up == "latest" else "it is not caught up with"
    return f"nobody was there for it when it came, {spoken(late)} ago, and {instead}"


def _late(job: Job, tick: float, now: float) -> float:
    return now - job.due_at(tick)


def _latest(job: Job, now: float) -> tuple[Sequence[float], float | None]:
    """The latest ticks that have come, and the last of those before them, if there are more."""
    if job.next_due is None:
        return (), None
    width, found = NARROWEST, list[float]()
    while len(found) <= MOST_TOLD:
        start = now - width
        found = _come_since(job, job.next_due if start <= job.next_due else job.calendar.after(start), now)
        if start <= job.next_due:
            break
        width *= 2
    return found[-MOST_TOLD:], found[-MOST_TOLD - 1] if len(found) > MOST_TOLD else None


def _come_since(job: Job, tick: float | None, now: float) -> list[float]:
    """This tick and those after it, as far as they have come."""
    ticks: list[float] = []
    while tick is not None and job.due_at(tick) <= now:
        ticks.append(tick)
        tick = job.calendar.after(tick)
    return ticks
