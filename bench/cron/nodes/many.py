"""Ourselves with schedules that are data: one function does all that is due."""

from __future__ import annotations

import time

from bench.cron.plan import Plan, note
from dibs import Run, connect

FUNCTION = "tick"
WORKERS = 64


def main(plan: Plan) -> None:
    """Serve."""
    with connect(plan.url, quiet=True) as client:
        client.job(name=FUNCTION, overlap="allow")(_run)
        plan.begin()
        client.serve(workers=WORKERS)


def _run(run: Run) -> None:
    note(run.tick.timestamp(), time.time())


if __name__ == "__main__":
    main(Plan.told())
