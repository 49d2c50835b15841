"""The tasks of a worker. Every worker has them all; each tick is run by one of them, and the lock keeps runs apart."""

from __future__ import annotations

import asyncio
import logging
import os

import dibs

os.environ.setdefault("REDIS_ENABLED", "false")  # then the workers share this machine's own store
d = dibs.connect(namespace="tasks", on_outage="local")  # and so they do while Redis is away

SOON = f"@every {os.environ['TASKS_EVERY']}" if os.environ.get("TASKS_EVERY") else ""
"""Instead of all schedules, for those who do not want to wait for an hour."""
EVERY_HOUR = SOON or "0 * * * *"
DAILY_AT_2 = SOON or "0 2 * * *"
EVERY_30_SECONDS = SOON or "@every 30s"

TAKES = float(os.environ.get("TASKS_TAKE", "1"))
"""How many seconds the work of a task lasts; in earnest it would be a call of some service."""

log = logging.getLogger("TasksService")


class TasksService:
    """Each tick is run once in the whole fleet. A run that lasts longer than its period meets the next one at the lock.

    That is what `overlap="allow"` is for: the scheduler would else leave out the next tick by itself, with or without
    a lock.
    """

    @d.cron(EVERY_HOUR, overlap="allow")
    @d.locked("hourly-task", ttl=300, on_conflict="skip")
    async def handle_hourly_task(self, run: dibs.Run) -> None:
        """The basic usage."""
        log.info("Processing hourly task...")
        await self._work("hourly-task", run)

    @d.cron(EVERY_HOUR, overlap="allow")
    @d.locked("sync-data", ttl=300, on_conflict="skip")
    async def sync_data(self, run: dibs.Run) -> None:
        """A short task: 5 minutes for what takes about 2."""
        await self._work("sync-data", run)

    @d.cron(DAILY_AT_2, overlap="allow")
    @d.locked("daily-cleanup", ttl=3600, on_conflict="skip")
    async def daily_cleanup(self, run: dibs.Run) -> None:
        """A long task: an hour for what takes about 30 minutes."""
        await self._work("daily-cleanup", run)

    @d.cron(EVERY_30_SECONDS, overlap="allow")
    @d.locked("health-check", ttl=30, retries=3, retry_delay="500ms", on_conflict="skip")
    async def health_check(self, run: dibs.Run) -> None:
        """A task that tries again 3 times, 500 ms apart, before it is skipped."""
        await self._work("health-check", run)

    @d.cron(EVERY_30_SECONDS)
    async def quick_health_check(self) -> None:
        """A task that is too short to be locked. The schedule alone sees to it that each tick is run once."""
        log.debug("Health check OK")

    async def _work(self, task: str, run: dibs.Run) -> None:
        await asyncio.sleep(TAKES)
        log.info("%s done for %s", task, run.tick)
