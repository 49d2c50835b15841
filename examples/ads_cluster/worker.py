"""One worker from its first word to its last: `d` and `app` are what the supervisor starts in each process."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import dibs
import dibs.web
from examples.ads_cluster.config import CLUSTER, TTL, WAIT, WORKER, d, keys
from examples.ads_cluster.keys import KeysUnreachable
from examples.ads_cluster.server import routes
from examples.ads_cluster.services.ads_service import validate_and_initialize_ads
from examples.ads_cluster.services.lock_service import perform_locked_operation

log = logging.getLogger("ads-cluster")

FIRST = "Cache Update Operation 1"
PATIENCE = 0.5
"""So long the server waits for the warm-up, in seconds: one that has no Redis answers all the same, and says so."""
PAUSE = 1.0


@asynccontextmanager
async def lifespan(app: object) -> AsyncGenerator[None]:
    """Warm up before the first request if that is quickly done, and go to work; at the end leave nothing behind."""
    told_on_stdout()
    is_warm = asyncio.Event()
    work = asyncio.create_task(begin(is_warm), name="ads-cluster")
    with suppress(TimeoutError):
        await asyncio.wait_for(is_warm.wait(), PATIENCE)
    try:
        yield
    finally:
        log.info("Shutting down gracefully...")
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await keys.close()


async def begin(is_warm: asyncio.Event) -> None:
    """Warm up, however long that takes, and do the first operation, unless an earlier process of this worker has."""
    while not is_warm.is_set():
        try:
            await warm_up()
            is_warm.set()
        except (dibs.DibsError, KeysUnreachable) as trouble:
            log.warning("%s connection failed, trying again: %s", keys.name, trouble)
            await asyncio.sleep(PAUSE)
    try:
        outcome = await first_operation(CLUSTER, WORKER)
        if isinstance(outcome, dibs.Skipped):
            log.info("%s is not done again: %s", FIRST, outcome.reason)
    except (dibs.DibsError, KeysUnreachable) as trouble:
        log.warning("%s was not done: %s", FIRST, trouble)


@d.once("first-operation:{cluster}:{worker}", per="1d", ttl=TTL, wait=WAIT)
async def first_operation(cluster: str, worker: int) -> None:
    """What each worker begins with. One that is killed all the time would keep the lock from the others with it."""
    await perform_locked_operation(FIRST)


async def warm_up() -> None:
    """See that the keys can be reached and that there is a value."""
    await keys.ping()
    log.info("Connected to %s", keys.name)
    log.info("%s connection established", keys.name)
    await validate_and_initialize_ads()


def told_on_stdout() -> None:
    """Each line with the worker's number; of dibs and of uvicorn only what goes wrong."""
    line = f"[Worker {WORKER} (PID: {os.getpid()})] %(message)s"
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format=line, force=True)
    log.setLevel(logging.INFO)


app = dibs.web.app(d, routes=routes, lifespan=lifespan)
