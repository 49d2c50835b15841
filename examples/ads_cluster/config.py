"""What the environment says, and the locks and keys that follow from it."""

from __future__ import annotations

import os
from secrets import token_hex

import dibs
from dibs.web import worker_id
from examples.ads_cluster.keys import opened


def number(variable: str, usual: int, *, least: int, most: int) -> int:
    """What a variable says; `ConfigError` if it cannot be meant."""
    said = os.environ.get(variable, "").strip() or str(usual)
    value = int(said) if said.isascii() and said.isdigit() and len(said) <= len(str(most)) else -1
    if not least <= value <= most:
        raise dibs.ConfigError(f"{variable}={said[:60]!r}: give a whole number from {least} to {most}")
    return value


MOST_WORKERS, LONGEST_DURATION = 64, 60_000

WORKERS = number("NUM_WORKERS", 4, least=1, most=MOST_WORKERS)
PORT = number("HTTP_PORT", 3000, least=1, most=65_535 - MOST_WORKERS)
HOST = os.environ.get("HTTP_HOST", "").strip() or "127.0.0.1"
DURATION = number("ADS_DURATION", 2000, least=0, most=LONGEST_DURATION)
"""How long an operation lasts of which nobody has said it, in milliseconds."""

WORKER = worker_id()
CLUSTER = os.environ.get("ADS_CLUSTER") or token_hex(8)
"""Which one of all the clusters that ever were: the primary names it, for all processes of its workers."""

TTL, WAIT = "1500ms", "10s"
"""A worker that dies with the lock keeps the others waiting for so long; and so long each of them waits for it."""

# The keys of the locks are "locks:ADS_REDLOCK" and so on: at "ADS_REDLOCK" itself is the value that they are about.
# Nothing is written without a lock, also if the store is silent and the environment would rather go on.
SERVERS = os.environ.get("REDIS_SERVERS", "").strip()
"""Several, as host:port,host:port,host:port: a majority of them has the locks then, and the first one the keys."""

d = dibs.connect(f"redlock://{SERVERS}" if SERVERS else None, namespace="locks", on_outage="closed")
keys = opened(d.config.url or "")


def ads_lock(purpose: str, *, wait: str | None = WAIT) -> dibs.Lock:
    """The right to write the value, for one at a time."""
    return d.lock("ADS_REDLOCK", ttl=TTL, wait=wait, purpose=purpose)
