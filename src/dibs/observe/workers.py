"""What happens to the workers of a supervisor, in words."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dibs.events.workers import (
    PrimaryLost,
    WorkerDied,
    WorkerEnded,
    WorkerEvent,
    WorkerNotUp,
    WorkerReady,
    WorkerRestarting,
    WorkerSilent,
    WorkersLeaving,
    WorkersRolling,
    WorkerStarted,
)
from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.events import Event

WORKER_LEVELS: dict[type[Event], int] = {
    WorkerStarted: logging.INFO,
    WorkerReady: logging.INFO,
    WorkerSilent: logging.ERROR,
    WorkerDied: logging.ERROR,
    WorkerRestarting: logging.INFO,
    WorkerNotUp: logging.ERROR,
    WorkerEnded: logging.INFO,
    WorkersLeaving: logging.INFO,
    WorkersRolling: logging.INFO,
    PrimaryLost: logging.WARNING,
}


def told_of_workers(event: WorkerEvent) -> str:
    """The event in words."""
    match event:
        case WorkerStarted(worker, pid):
            return f"worker {worker} starts as process {pid}"
        case WorkerReady(worker, pid, after, None):
            return f"worker {worker} (process {pid}) is ready after {spoken(after)}"
        case WorkerReady(worker, pid, after, port):
            return f"worker {worker} (process {pid}) is ready after {spoken(after)}, on port {port}"
        case WorkerSilent(worker, pid, why):
            return f"worker {worker} (process {pid}) is killed: it was {why}"
        case WorkerDied(worker, 0, how):
            return f"worker {worker} has no process: {how}"
        case WorkerDied(worker, pid, how):
            return f"worker {worker} (process {pid}) has died: {how}"
        case WorkerRestarting(worker, 0):
            return f"worker {worker} is started again"
        case WorkerRestarting(worker, pause):
            return f"worker {worker} is started again in {spoken(pause)}, as it died at once"
        case WorkerNotUp(worker, tries, how):
            return f"worker {worker} does not come up, after {tries} tries: {how}"
        case WorkerEnded(worker, pid):
            return f"worker {worker} (process {pid}) has ended"
        case WorkersLeaving(why, True):
            return f"all workers are to end at once ({why})"
        case WorkersLeaving(why):
            return f"all workers are to finish what they have, and end ({why})"
        case WorkersRolling(workers):
            return f"starts workers {', '.join(map(str, workers))} anew, one after the other"
        case PrimaryLost(worker):
            return f"the primary of worker {worker} is gone: it finishes what it has, and ends"
