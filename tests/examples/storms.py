"""Clients that write to a cluster without end, while its workers are killed one after the other."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path

from tests.examples.clusters import Cluster, wish

SECONDS = int(os.environ.get("STORM_SECONDS", "10"))
CLIENTS, WORKERS = 200, 4
A_MOMENT = 0.02


class Storm:
    """Clients that write without end, while one worker after the other is killed."""

    def __init__(self, workers: Cluster) -> None:
        self._workers, self._is_over, self._up = workers, asyncio.Event(), list(range(1, WORKERS + 1))
        self.answers, self.written, self.times = Counter[int | str](), set[str](), list[float]()
        """What was answered, which names were answered with 200, and how long each killed worker was away.

        Not counted is how long the new process stood in line for a core: tests beside us are no fault of the cluster.
        """

    async def rages(self) -> None:
        """For so many seconds."""
        async with asyncio.TaskGroup() as group:
            for client in range(CLIENTS):
                group.create_task(self._write(client))
            await self._kill()
            self._is_over.set()

    async def _write(self, client: int) -> None:
        for number in count():
            worker = 1 + (client + number) % WORKERS
            if self._is_over.is_set():
                return
            if worker not in self._up:
                await self._pass(A_MOMENT)
                continue
            try:
                body = wish(f"Storm {client}.{number}", 0)
                status, told = await self._workers.aask(worker, "POST", "/update", body)
            except (OSError, EOFError):
                self.answers["broken"] += 1
                continue
            self.answers[status] += 1
            if status == 200:
                self.written.add(told["data"]["name"])

    async def _kill(self) -> None:
        """One worker a second, the one first that has lived for the longest time."""
        loop = asyncio.get_running_loop()
        begins = loop.time()
        async with asyncio.TaskGroup() as group:
            for second in range(1, SECONDS + 1):
                await self._pass(begins + second - loop.time())
                while not self._up:
                    await self._pass(A_MOMENT)
                group.create_task(self._dies(self._up.pop(0)))

    async def _dies(self, worker: int) -> None:
        pid, loop = await self._pid(worker), asyncio.get_running_loop()
        os.kill(pid, signal.SIGKILL)
        killed_at = loop.time()
        while (new := await self._pid(worker)) in {0, pid}:
            await self._pass(A_MOMENT)
        self.times.append(loop.time() - killed_at - kept_waiting(new))
        self._up.append(worker)

    async def _pid(self, worker: int) -> int:
        """Who answers there; 0 if nobody does."""
        try:
            return int((await self._workers.aask(worker, "GET", "/status")).told["processId"])
        except (OSError, EOFError):
            return 0

    async def _pass(self, time: float) -> None:
        """Let so many seconds pass: what is tested is what happens in them."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_over.wait(), time)


def kept_waiting(pid: int) -> float:
    """For how many seconds of its life a process could have run and had no core, where the system tells it."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
