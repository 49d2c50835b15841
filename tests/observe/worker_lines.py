"""What is logged of the workers of a supervisor."""

from __future__ import annotations

import logging

from dibs.events import WorkerEvent, workers

WORKER_LINES: list[tuple[WorkerEvent, int, str]] = [
    (workers.WorkerStarted(1, 77), logging.INFO, "worker 1 starts as process 77"),
    (workers.WorkerReady(1, 77, 0.4, None), logging.INFO, "worker 1 (process 77) is ready after 400ms"),
    (workers.WorkerReady(1, 77, 0.4, 3001), logging.INFO, "worker 1 (process 77) is ready after 400ms, on port 3001"),
    (
        workers.WorkerSilent(1, 77, "silent for 10s"),
        logging.ERROR,
        "worker 1 (process 77) is killed: it was silent for 10s",
    ),
    (workers.WorkerDied(1, 77, "ended by SIGKILL"), logging.ERROR, "worker 1 (process 77) has died: ended by SIGKILL"),
    (workers.WorkerDied(1, 0, "no more files"), logging.ERROR, "worker 1 has no process: no more files"),
    (workers.WorkerRestarting(1, 0.0), logging.INFO, "worker 1 is started again"),
    (workers.WorkerRestarting(1, 0.2), logging.INFO, "worker 1 is started again in 200ms, as it died at once"),
    (workers.WorkerNotUp(1, 5, "exit code 3"), logging.ERROR, "worker 1 does not come up, after 5 tries: exit code 3"),
    (workers.WorkerEnded(1, 77), logging.INFO, "worker 1 (process 77) has ended"),
    (
        workers.WorkersLeaving("SIGTERM", is_hurried=False),
        logging.INFO,
        "all workers are to finish what they have, and end (SIGTERM)",
    ),
    (workers.WorkersLeaving("SIGTERM", is_hurried=True), logging.INFO, "all workers are to end at once (SIGTERM)"),
    (workers.WorkersRolling((1, 2)), logging.INFO, "starts workers 1, 2 anew, one after the other"),
    (workers.PrimaryLost(1), logging.WARNING, "the primary of worker 1 is gone: it finishes what it has, and ends"),
]
