"""Which ticks have come, which of them are to be run, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dibs.model.duration import spoken
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.model.job import Job

PUNCTUAL = 10.0
"""Who begins within so many seconds is not late."""
MOST_TOLD = 1_000
"""Of ticks that nobody was there for, the latest are told one by one, and those before them together."""
NARROWEST = 60.0


@value
class Come:
    """A tick that has come; with the reason if it is not to be run."""

    tick: float
    missed: str = ""


def ticks_come(job: Job, now: float) -> Sequence[Come]:
    """The ticks that have come by now, in their order."""
    ticks, before = _latest(job, now)
    chosen = set(_chosen(job, ticks, now))
    told = [Come(tick, "" if tick in chosen else _why(job, tick, now)) for tick in ticks]
    if before is None or job.next_due is None:
        return told
    return [Come(before, f"nobody was there for it, nor for any before it since {moment(job.next_due)}"), *told]


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
        return f"it came {spoken(late)} ago, and its grace is {spoken(grace)}"
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
