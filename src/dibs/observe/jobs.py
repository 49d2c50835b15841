"""What happens to jobs and their nodes, in words."""

from __future__ import annotations

from dibs.events.jobs import (
    Acted,
    ClaimingPaused,
    DefinitionOutdated,
    JobEvent,
    JobUnbound,
    NodeDown,
    RunBegun,
    RunBuried,
    RunEnded,
    RunForsaken,
    RunLeftBehind,
    RunSlow,
    ScheduleChanged,
    ScheduleRetired,
    Serving,
    ServingEnded,
    SheetUnreadable,
    TickPassed,
)
from dibs.model.duration import spoken
from dibs.model.ticks import moment

MOST_LISTED = 10


def told_of_jobs(event: JobEvent) -> str:
    """The event in words."""
    match event:
        case Serving(node, jobs):
            return f"serves {_listed(jobs)} as {node}"
        case JobUnbound(job, function):
            return f"nobody runs the job {job!r}: {function} is a method, and d.bind(...) has named no instance"
        case ServingEnded(node, 0):
            return f"serves no more as {node}"
        case ServingEnded(node, unfinished):
            return f"serves no more as {node}; {unfinished} runs had not ended, and were handed back or given up"
        case RunBegun(job, tick, attempt, fence, lateness):
            return f"begins {_run(job, tick, attempt)} (fence {fence}), {spoken(max(lateness, 0.0))} after its time"
        case RunEnded(job, tick, attempt, outcome, reason, duration, is_last):
            why, more = f" ({reason})" if reason else "", "" if is_last else "; it is tried again"
            return f"{_run(job, tick, attempt)} ended after {spoken(duration)}: {outcome}{why}{more}"
        case RunSlow(job, tick, attempt, running_for, expect):
            lasts = f"has run for {spoken(running_for)}, and {spoken(expect)} were expected"
            return f"{_run(job, tick, attempt)} {lasts}: is it stuck?"
        case RunForsaken(job, tick, attempt, reason):
            return f"{_run(job, tick, attempt)} does not count any more: {reason}"
        case RunLeftBehind(job, tick, attempt, running_for):
            why = "it does not count any more, and does not stop"
            return f"{_run(job, tick, attempt)} is left behind after {spoken(running_for)}: {why}"
        case RunBuried(job, tick, attempt, node, is_last):
            fate = "it is lost" if is_last else "it is begun once more"
            return f"{_run(job, tick, attempt)} was not renewed by {node}: {fate}"
        case TickPassed(job, tick, outcome, reason):
            return f"{job!r} was not run for {moment(tick)}: {outcome} ({reason})"
        case ClaimingPaused(server, why, lasts):
            return f"claims no runs from {server} for {spoken(lasts)}: {why}"
        case ScheduleChanged(job, rule, node):
            return f"the schedule of {job!r} is {rule!r} from now on, as the code of {node} says"
        case DefinitionOutdated(job, rule, holds):
            return f"the code here says {rule!r} of {job!r}, but {holds!r} holds: it was deployed or said later"
        case ScheduleRetired(job):
            return f"{job!r} is run no more: no live node's code defines it"
        case SheetUnreadable(name, why):
            return f"leaves {name!r} alone, as it cannot be read here: {why}; upgrade dibs here, or mend it"
        case Acted(job, act, by, reason):
            return f"{by}: {act} {repr(job) if job else 'the whole fleet'}{f' ({reason})' if reason else ''}"
        case NodeDown(node, silent_for):
            return f"{node} is down: it was not heard of for {spoken(silent_for)}"


def _run(job: str, tick: float, attempt: int) -> str:
    return f"{job!r} for {moment(tick)}{f', attempt {attempt}' if attempt > 1 else ''}"


def _listed(jobs: tuple[str, ...]) -> str:
    more = f" and {len(jobs) - MOST_LISTED} more" if len(jobs) > MOST_LISTED else ""
    return f"{', '.join(map(repr, jobs[:MOST_LISTED]))}{more}"
