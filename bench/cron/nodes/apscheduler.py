"""APScheduler 3 with its job store on Redis, which two share here although its manual says that they cannot."""

from __future__ import annotations

import time
from datetime import UTC
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from bench.crew import pause
from bench.cron.plan import WORK, Plan, note

RUN = "bench.cron.nodes.apscheduler:run"


def main(plan: Plan) -> None:
    """Run jobs until it is ended."""
    events, stores = import_module("apscheduler.events"), import_module("apscheduler.jobstores.redis")
    where = urlsplit(plan.url)
    scheduler = import_module("apscheduler.schedulers.blocking").BlockingScheduler(
        jobstores={"default": stores.RedisJobStore(host=where.hostname, port=where.port)}, timezone=UTC
    )
    times = {"second": f"*/{plan.period:g}"} if plan.period else {"minute": plan.minute}
    for name in plan.names:
        scheduler.add_job(RUN, "cron", id=name, replace_existing=True, **times)
    scheduler.add_listener(_ran, events.EVENT_JOB_EXECUTED)
    plan.begin()
    scheduler.start()


def run() -> None:
    """Be at work. A job is not told its tick; a listener is."""
    pause(WORK)


def _ran(event: Any) -> None:
    note(event.scheduled_run_time.timestamp(), time.time())


if __name__ == "__main__":
    main(Plan.told())
