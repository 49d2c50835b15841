"""Closes stores when their work hours end."""

from __future__ import annotations

import asyncio

import dibs
from examples.store_cron.locks import SOON, TAKES, d, log
from examples.store_cron.stores import listed, to_close

KEY = "cron:store-auto-close"


@d.cron(SOON or "0 0,6 * * *", overlap="allow")  # the lock decides, also against servers that know only the key
@d.locked(KEY, ttl="10m", on_conflict="skip")
async def store_auto_close(run: dibs.Run) -> int:
    """How many were closed."""
    log.info("Starting store auto-close cron job...")
    await asyncio.sleep(TAKES)  # in earnest: a statement to the database
    closed = to_close(run.tick)
    log.info("Closed %s for %s", listed(closed), run.tick)
    log.info("Store auto-close cron job completed successfully")
    return len(closed)
