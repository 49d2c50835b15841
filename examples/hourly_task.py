"""Three workers have the same hourly job, it is due on all of them at once, and one of them does it.

Run it with `python examples/hourly_task.py`. It needs no server: unless you say otherwise, Redis is off
(`REDIS_ENABLED=false`), and the workers share this machine's own store. For workers on many machines it is the same
program with `REDIS_ENABLED=true` and `REDIS_HOST`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import dibs

WORKERS = 3
LOCK = "hourly-task"

os.environ.setdefault("REDIS_ENABLED", "false")
d = dibs.connect()


class TasksService:
    """What a worker does beside its own work."""

    @d.locked(LOCK, ttl=300, on_conflict="skip")
    async def handle_hourly_task(self) -> int:
        """Runs on one worker only: gives an int there, and `Skipped` on the others."""
        print("Processing hourly task...", flush=True)
        await asyncio.to_thread(sys.stdin.readline)  # the work: here it lasts until all have had their turn
        return 42


async def work(instance: str) -> None:
    """One worker's side of the story."""
    said = f"Worker Instance {instance}:"
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=f"{said} [DistributedLock] %(message)s")
    print("ready", flush=True)
    sys.stdin.readline()  # the hour has come
    async with d:
        result = await TasksService().handle_hourly_task()
    print(said, result.reason if isinstance(result, dibs.Skipped) else f"{result} records processed")


def main() -> int:
    """Start the workers, have the job due on all of them at once, and see who has done it."""
    with ExitStack() as running:
        workers = [running.enter_context(worker(str(number))) for number in range(1, WORKERS + 1)]
        for each in workers:
            list(heard(each, "ready"))
        for each in workers:
            tell(each)  # that the hour has come
        for each in workers:
            print(*heard(each, LOCK), sep="\n")  # whether it has got the lock
        for each in workers:
            hang_up(each)  # whoever is at work may end it
        lines = [line for each in workers for line in heard(each)]
    print(*lines, sep="\n")
    done = sum(line.endswith("records processed") for line in lines)
    print(f"The task was done by {done} of {WORKERS} instances")
    return 0 if done == 1 else 1


def worker(instance: str) -> subprocess.Popen[str]:
    """Another process, which talks to us by its pipes."""
    words = [sys.executable, __file__, instance]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def heard(each: subprocess.Popen[str], until: str | None = None) -> Iterator[str]:
    """What it says, up to a line with this word in it, or to its end."""
    assert each.stdout is not None
    for line in each.stdout:
        yield line.rstrip()
        if until is not None and until in line:
            return


def tell(each: subprocess.Popen[str]) -> None:
    """Say a word to it."""
    assert each.stdin is not None
    each.stdin.write("\n")
    each.stdin.flush()


def hang_up(each: subprocess.Popen[str]) -> None:
    """Say that nothing more will be said."""
    assert each.stdin is not None
    each.stdin.close()


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(work(sys.argv[1]))
    else:
        sys.exit(main())
