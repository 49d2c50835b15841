"""A worker: one process that wants the lock again and again, and once a second does the job if nobody else has.

The primary starts it, by `python -m dibs.cli.demo.worker`, holds the other end of its stdin, and may kill or stop it
at any moment; it is not told. When its stdin ends, the primary wants it to end, or is dead itself.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING

from dibs import LeaseLost, StoreUnreachable, connect
from dibs.cli.demo.ledger import Ledger
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from dibs import Dibs, Lease, Lock

COUNTER, JOB = "demo:counter", "demo:job"
FACES = ("with", "async with")

TTL = 1.0
"""How long a lock stays with one who died."""
WORK = 0.001
"""How long a turn takes: long enough for every other worker to run meanwhile, if only it could get in."""
JOB_TAKES = 0.02
CATCH_UP = 5
"""How many seconds back the job is still done for, after a pause of the whole machine."""
LONGEST_GOODBYE = 4.0


def main(name: str, face: str, ledger: str, namespace: str) -> None:
    """Live until stdin ends. The store's URL is in DIBS_URL, where no list of processes shows it."""
    is_over, has_ended = threading.Event(), threading.Event()
    threading.Thread(target=_watch, args=(is_over, has_ended), daemon=True).start()
    client = connect(os.environ["DIBS_URL"], namespace=namespace, quiet=True)
    with client, Ledger(Path(ledger)) as ledger_of_turns, Ledger(Path(ledger)) as ledger_of_job:
        worker = Worker(name, client, ledger_of_turns, ledger_of_job, is_over)
        if face == "with":
            worker.live()
        else:
            asyncio.run(worker.alive())
    has_ended.set()


def _watch(is_over: threading.Event, has_ended: threading.Event) -> None:
    while os.read(0, 1):
        pass
    is_over.set()
    if not has_ended.wait(LONGEST_GOODBYE):
        os._exit(1)


class Worker:
    """Its life, as two threads (`live`) or as two tasks (`alive`). What both have in common stands below them."""

    def __init__(
        self, name: str, client: Dibs, ledger: Ledger, ledger_of_job: Ledger, is_over: threading.Event
    ) -> None:
        self._name, self._ledger, self._ledger_of_job, self._is_over = name, ledger, ledger_of_job, is_over
        self._counter: Lock = client.lock(COUNTER, ttl=TTL, purpose=name)
        self._job: Lock = client.lock(JOB, ttl=TTL, purpose=name)

    def live(self) -> None:
        """By the blocking face."""
        with ThreadPoolExecutor() as pool:
            lives = [pool.submit(self._take_turns), pool.submit(self._do_jobs)]
            wait(lives, return_when=FIRST_EXCEPTION)
            self._is_over.set()
        for life in lives:
            life.result()

    def _take_turns(self) -> None:
        self._ledger.sign_in(self._name)
        while not self._is_over.is_set():
            with suppress(LeaseLost, StoreUnreachable), self._counter as lease:
                seen = self._enter(lease)
                self._is_over.wait(WORK)
                self._write(lease, seen)

    def _do_jobs(self) -> None:
        tick = floor(time.time()) + 1
        while self._comes(tick):
            with suppress(LeaseLost, StoreUnreachable):
                with self._job as lease:
                    if self._ledger_of_job.begin(lease.fence, tick):
                        self._is_over.wait(JOB_TAKES)
                        self._ledger_of_job.note_done(self._name, lease.fence, tick)
                tick = following(tick, time.time())

    async def alive(self) -> None:
        """By the face of asyncio."""
        await asyncio.gather(self._atake_turns(), self._ado_jobs())

    async def _atake_turns(self) -> None:
        self._ledger.sign_in(self._name)
        while not self._is_over.is_set():
            with suppress(LeaseLost, StoreUnreachable):
                async with self._counter as lease:
                    seen = self._enter(lease)
                    await asyncio.sleep(WORK)
                    self._write(lease, seen)

    async def _ado_jobs(self) -> None:
        tick = floor(time.time()) + 1
        while await asyncio.to_thread(self._comes, tick):
            with suppress(LeaseLost, StoreUnreachable):
                async with self._job as lease:
                    if self._ledger_of_job.begin(lease.fence, tick):
                        await asyncio.sleep(JOB_TAKES)
                        self._ledger_of_job.note_done(self._name, lease.fence, tick)
                tick = following(tick, time.time())

    def _enter(self, lease: Lease) -> int | None:
        return self._ledger.enter(self._name, lease.fence, until=trusted_until(lease))

    def _write(self, lease: Lease, seen: int | None) -> None:
        if seen is not None:
            self._ledger.write(self._name, lease.fence, seen + 1, until=trusted_until(lease))

    def _comes(self, tick: int) -> bool:
        """Wait for that second; false if the end comes first."""
        while (left := tick - time.time()) > 0:
            if self._is_over.wait(left):
                return tick <= time.time()
        return True


def trusted_until(lease: Lease) -> float:
    """Until when the lease surely stands, by the machine's clock; 0 if it is over."""
    now = boottime()  # read first: a pause in between can only make it too early
    remaining = lease.remaining
    return now + remaining if remaining > 0 else 0.0


def following(tick: int, now: float) -> int:
    """The second to do the job for after that one; what lies far back, because all slept, is let go."""
    return max(tick + 1, floor(now) - CATCH_UP)


if __name__ == "__main__":
    main(*sys.argv[1:])
