"""Jobs whose runs have processes of their own, and a program that serves them."""

from __future__ import annotations

import os
import sys
import threading

import dibs
from dibs import Run, Skipped
from tests.chaos.actor import say

d = dibs.connect(os.environ.get("APART_URL", "memory://apart"), quiet=True)


@d.cron("* * * * *", tz="Europe/Berlin", process=True)
def works(run: Run) -> dict[str, object]:
    run.log.info("from %s", "afar")
    run.progress(0.5, "half")
    return {"pid": os.getpid(), "fence": run.fence, "attempt": run.attempt, "tick": run.tick.isoformat()}


@d.every("1s", process=True, timeout="2s")
def hangs(run: Run) -> None:
    run.log.info("begun")
    run.progress(0.1)
    threading.Event().wait()


@d.every("1s", process=True)
def fails() -> None:
    raise ValueError("no stock")


@d.every("1s", process=True)
def dies() -> None:
    os._exit(3)


@d.every("1s", process=True)
def exits() -> None:
    sys.exit("enough")


@d.every("1s", process=True)
def skips() -> Skipped:
    return Skipped("works", "done")


@d.every("1s", process=True, ttl=3)
def lasts() -> None:
    say("lasts", os.getpid())
    threading.Event().wait()


@d.job(process=True)
def takes(run: Run, customer: str) -> list[object]:
    return [customer, run.job, run.schedule, run.source, dict(run.arguments)]


def serve_one(name: str) -> None:
    """Serve this job alone."""
    roster = d._jobs()
    roster._kept = {name: roster._kept[name]}
    d.serve()
