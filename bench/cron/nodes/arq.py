"""arq: each worker puts a run into the queue under the name of its tick, which is remembered for a minute."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC
from importlib import import_module
from typing import Any

from bench.cron.plan import WORK, Plan, note


async def main(plan: Plan) -> None:
    """Work until SIGTERM."""
    arq = import_module("arq")
    when: Mapping[str, object] = (
        {"second": set(range(0, 60, int(plan.period)))} if plan.period else {"minute": plan.minute}
    )
    worker = arq.Worker(
        cron_jobs=[arq.cron(_run, name=name, **when) for name in plan.names],
        redis_settings=arq.connections.RedisSettings.from_dsn(plan.url),
        timezone=UTC,
    )
    plan.begin()
    await worker.async_run()


async def _run(context: Mapping[str, Any]) -> None:
    began_at = time.time()
    await asyncio.sleep(WORK)
    tick_ms = int(context["job_id"].rpartition(":")[2])
    note(tick_ms // 1000, began_at)  # it puts all off by an eighth of a second


if __name__ == "__main__":
    asyncio.run(main(Plan.told()))
