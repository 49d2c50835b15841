"""Ourselves, as a reader of our README would."""

from __future__ import annotations

import time

from bench.crew import pause
from bench.cron.plan import WORK, Plan, note
from dibs import Dibs, Run, connect


def main(plan: Plan) -> None:
    """Serve."""
    with connect(plan.url, quiet=True) as client:
        for name, period in zip(plan.names, plan.periods, strict=True):
            _schedule(client, plan, name, period=period)
        plan.begin()
        client.serve()


def _schedule(client: Dibs, plan: Plan, name: str, *, period: float) -> None:
    if period:
        client.every(period, name=name)(_run)
    else:
        client.cron(f"{plan.minute} * * * *", name=name)(_run)


def _run(run: Run) -> None:
    began_at = time.time()
    pause(WORK)
    note(run.tick.timestamp(), began_at)


if __name__ == "__main__":
    main(Plan.told())
