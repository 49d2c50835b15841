"""SAQ: each worker puts the next run of each schedule into the queue, once a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from bench.cron.plan import WORK, Plan, note


async def main(plan: Plan) -> None:
    """Work until SIGTERM."""
    saq = import_module("saq")
    rule = f"* * * * * */{plan.period:g}" if plan.period else f"{plan.minute} * * * *"
    queue = saq.Queue.from_url(plan.url)
    await queue.connect()
    cron_jobs = [saq.CronJob(_job(name), cron=rule) for name in plan.names]
    worker = saq.Worker(queue, functions=[], cron_jobs=cron_jobs)
    plan.begin()
    await worker.start()


def _job(name: str) -> Callable[[Any], Awaitable[None]]:
    async def run(context: Any) -> None:
        began_at = time.time()
        await asyncio.sleep(WORK)
        note(context["job"].scheduled, began_at)

    run.__qualname__ = name  # by which it tells schedules apart
    return run


if __name__ == "__main__":
    asyncio.run(main(Plan.told()))
