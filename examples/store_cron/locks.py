"""Where the servers keep their locks, and what they say of them."""

from __future__ import annotations

import logging
import os

import dibs
from dibs.events import CallSkipped

log = logging.getLogger("store-cron")

SOON = f"@every {os.environ['CRON_EVERY']}" if os.environ.get("CRON_EVERY") else ""
"""Instead of both schedules, for those who do not want to wait until midnight."""
TAKES = float(os.environ.get("CRON_TAKE", "1"))
"""How many seconds the work of a job lasts."""


class Skipping:
    """Says in the words of the house that a job is skipped here."""

    def on(self, event: dibs.Event, /) -> None:
        if isinstance(event, CallSkipped):
            log.info("Another server is running the %s cron, skipping.", spoken(event.name))


def spoken(key: str) -> str:
    """What people call the job of a lock: `cron:store-auto-close` is "store auto-close"."""
    return key.removeprefix("cron:").replace("-", " ", 1)


# No namespace: the keys are "cron:store-auto-close" and so on, for redis-cli and for servers that know only them.
# While Redis is away, every server runs the jobs: a store that is reminded twice is better than one that is forgotten.
d = dibs.connect(namespace="", on_outage="open", observers=[Skipping()])


def greet() -> None:
    """Say whether there is a store to keep locks in."""
    store = "Redis" if d.guarantee.across_machines else "Embedded store"
    try:
        d.is_locked("cron:store-auto-close")
    except dibs.StoreUnreachable as away:
        log.warning("❌ %s not available, jobs run on every server until it is: %s", store, away)
        return
    log.info("✅ %s connected for distributed locks", store)
    log.info("✅ %s ready for distributed locks", store)
