"""A hundred who wait for a lock that another process keeps: what the waiting alone costs theirs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from bench.crew import Crew, Meet, Part, crew, pause
from bench.peers import FILELOCK, OURS, TASK, THREAD, file_lock, installed
from bench.rounds import Effort, Row, interleaved
from dibs import Lock, connect

WAITERS = 100
NAME = "kept"
SETTLING = 0.5
"""Seconds in which all have asked, and have nothing left to do but wait."""
POLLED = 2.0
"""Seconds in which others who wait have looked often enough to know what that takes."""


class NotWaiting(Exception):
    """Not all of them waited for as long as was measured: then it says nothing of waiting."""


def named(contender: str) -> str:
    """The name of a row."""
    return f"CPU of {WAITERS} idle waiters: {contender}"


def rows(effort: Effort) -> list[Row]:
    """In a third of the default TTL, ten seconds, each waiter gives one sign of life; a shorter span may miss it."""
    with TemporaryDirectory(prefix="dibs-bench-") as folder, crew(2) as two:
        found = interleaved(_contenders(two, Path(folder), effort.span), effort.rounds)
    told = {name: Row(named(name), used, "%") for name, used in found.items()}
    beside_peer = {name: told[name].beside(told[FILELOCK]) for name in OURS if FILELOCK in told}
    return [*{**told, **beside_peer}.values()]


def _contenders(two: Crew, folder: Path, span: float) -> Mapping[str, Callable[[], float]]:
    def contender(part: Part[float]) -> Callable[[], float]:
        return lambda: two.play(part)[1]

    url, shorter = f"sqlite:///{folder}/store.sqlite", min(span, POLLED)
    return {
        **{peer: contender(partial(_with_peer, peer, folder, shorter)) for peer in installed()},
        THREAD: contender(partial(_with_threads, url, span)),
        TASK: contender(partial(_with_tasks, url, span)),
    }


def _with_peer(peer: str, folder: Path, span: float, number: int, meet: Meet) -> float:
    return _keep_or_wait(lambda: file_lock(peer, folder), span, number, meet)


def _with_threads(url: str, span: float, number: int, meet: Meet) -> float:
    with connect(url, quiet=True) as client:
        return _keep_or_wait(lambda: client.lock(NAME), span, number, meet)


def _keep_or_wait(lock: Callable[[], AbstractContextManager[object]], span: float, number: int, meet: Meet) -> float:
    """The first process keeps the lock, the second waits for it in many threads and tells what that takes."""
    if number == 0:
        with lock():
            meet()
            meet()
        return 0.0
    meet()
    passed: list[object] = []
    threads = [Thread(target=_pass_through, args=(lock(), passed), daemon=True) for _ in range(WAITERS)]
    for thread in threads:
        thread.start()
    pause(SETTLING)
    used = share_of_core(span)
    too_early = len(passed)
    meet()
    for thread in threads:
        thread.join()
    return _if_all_waited(used, too_early, len(passed))


def _with_tasks(url: str, span: float, number: int, meet: Meet) -> float:
    if number == 0:
        return _with_threads(url, span, number, meet)

    async def wait() -> float:
        async with connect(url, quiet=True) as client:
            meet()
            passed: list[object] = []
            tasks = [asyncio.create_task(_pass_through_as_task(client.lock(NAME), passed)) for _ in range(WAITERS)]
            await asyncio.sleep(SETTLING)
            used = await asyncio.to_thread(share_of_core, span)
            too_early = len(passed)
            meet()
            await asyncio.gather(*tasks)
        return _if_all_waited(used, too_early, len(passed))

    return asyncio.run(wait())


def _pass_through(lock: AbstractContextManager[object], passed: list[object]) -> None:
    with lock:
        passed.append(lock)


async def _pass_through_as_task(lock: Lock, passed: list[object]) -> None:
    async with lock:
        passed.append(lock)


def _if_all_waited(used: float, too_early: int, passed: int) -> float:
    if too_early or passed != WAITERS:
        raise NotWaiting(f"{too_early} of {WAITERS} had the lock while another process kept it, {passed} afterwards")
    return used


def share_of_core(span: float) -> float:
    """How much of one core this process takes for so long, in percent."""
    before, began = time.process_time(), time.monotonic()
    pause(span)
    return (time.process_time() - before) / (time.monotonic() - began) * 100
