"""Reminds stores to open when they should be open."""

from __future__ import annotations

import asyncio

import dibs
from examples.store_cron.locks import SOON, TAKES, d, log
from examples.store_cron.stores import listed, to_remind

KEY = "cron:store-open-reminder"


@d.cron(SOON or "*/30 * * * *", overlap="allow")
@d.locked(KEY, ttl="5m", on_conflict="skip")
async def store_open_reminder(run: dibs.Run) -> int:
    """How many were reminded."""
    log.info("Starting store open-reminder cron job...")
    await asyncio.sleep(TAKES)  # in earnest: a notification for each
    reminded = to_remind(run.tick)
    log.info("Reminded %s for %s", listed(reminded), run.tick)
    log.info("Store open-reminder cron job completed successfully")
    return len(reminded)
