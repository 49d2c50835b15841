"""What is logged of the workers of a supervisor."""

from __future__ import annotations

import logging

from dibs.events import (
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

WORKER_LINES: list[tuple[WorkerEvent, int, str]] = [
    (WorkerStarted(1, 77), logging.INFO, "worker 1 starts as process 77"),
    (WorkerReady(1, 77, 0.4, None), logging.INFO, "worker 1 (process 77) is ready after 400ms"),
    (WorkerReady(1, 77, 0.4, 3001), logging.INFO, "worker 1 (process 77) is ready after 400ms, on port 3001"),
    (WorkerSilent(1, 77, "silent for 10s"), logging.ERROR, "worker 1 (process 77) is killed: it was silent for 10s"),
    (WorkerDied(1, 77, "ended by SIGKILL"), logging.ERROR, "worker 1 (process 77) has died: ended by SIGKILL"),
    (WorkerDied(1, 0, "no more files"), logging.ERROR, "worker 1 has no process: no more files"),
    (WorkerRestarting(1, 0.0), logging.INFO, "worker 1 is started again"),
    (WorkerRestarting(1, 0.2), logging.INFO, "worker 1 is started again in 200ms, as it died at once"),
    (WorkerNotUp(1, 5, "exit code 3"), logging.ERROR, "worker 1 does not come up, after 5 tries: exit code 3"),
    (WorkerEnded(1, 77), logging.INFO, "worker 1 (process 77) has ended"),
    (
        WorkersLeaving("SIGTERM", is_hurried=False),
        logging.INFO,
        "all workers are to finish what they have, and end (SIGTERM)",
    ),
    (WorkersLeaving("SIGTERM", is_hurried=True), logging.INFO, "all workers are to end at once (SIGTERM)"),
    (WorkersRolling((1, 2)), logging.INFO, "starts workers 1, 2 anew, one after the other"),
    (PrimaryLost(1), logging.WARNING, "the primary of worker 1 is gone: it finishes what it has, and ends"),
]
