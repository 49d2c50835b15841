"""Many who want one key, with nothing to do while they have it: how they take turns, and what they note of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

from bench.crew import Meet
from bench.redis import aio, blocking

KEY = "contended"
WARM_UP = 0.25
"""How long they contend before we look, as a part of the span: so all are there, and know the way."""
GRACE = 0.3
"""Seconds after the span in which the rest may have its last turn; those who need longer are left where they are."""

Noted = Sequence[tuple[float, float]]
"""The turns of one waiter: when it had the lock, and when it called release."""


def with_tasks(contender: str, port: int, waiters: int, span: float, number: int, meet: Meet) -> Sequence[Noted]:
    """A part: so many tasks on one client."""

    async def live() -> Sequence[Noted]:
        async with aio.OPENERS[contender](port, waiters) as locks:
            async with locks(f"warm-up:{number}"):
                pass
            since = meet() + span * WARM_UP
            until = since + span
            noted: list[list[tuple[float, float]]] = [[] for _ in range(waiters)]
            await _end([asyncio.create_task(_task(locks, until, turns)) for turns in noted], until + GRACE)
        return _within(noted, since, until)

    return asyncio.run(live())


async def _task(locks: aio.Locks, until: float, turns: list[tuple[float, float]]) -> None:
    while time.monotonic() < until:
        async with locks(KEY):
            began_at = time.monotonic()
            turns.append((began_at, time.monotonic()))


async def _end(tasks: Sequence[asyncio.Task[None]], give_up_at: float) -> None:
    done, waiting = await asyncio.wait(
        tasks, timeout=give_up_at - time.monotonic(), return_when=asyncio.FIRST_EXCEPTION
    )
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()


def with_threads(contender: str, port: int, waiters: int, span: float, number: int, meet: Meet) -> Sequence[Noted]:
    """A part: so many threads on one client. Those who still wait at the end go with the process."""
    with blocking.OPENERS[contender](port, waiters) as locks:
        with locks(f"warm-up:{number}"):
            pass
        since = meet() + span * WARM_UP
        until = since + span
        noted: list[list[tuple[float, float]]] = [[] for _ in range(waiters)]
        troubles: list[Exception] = []
        threads = [
            threading.Thread(target=_thread, args=(locks, until, turns, troubles), daemon=True) for turns in noted
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(until + GRACE - time.monotonic(), 0.0))
        if troubles:
            raise troubles[0]
    return _within(noted, since, until)


def _thread(locks: blocking.Locks, until: float, turns: list[tuple[float, float]], troubles: list[Exception]) -> None:
    try:
        while time.monotonic() < until:
            with locks(KEY):
                began_at = time.monotonic()
                turns.append((began_at, time.monotonic()))
    except Exception as trouble:  # noqa: BLE001 - raised where somebody hears of it
        troubles.append(trouble)


def _within(noted: Sequence[Noted], since: float, until: float) -> Sequence[Noted]:
    """A turn that begins too early or too late is none: not all were there."""
    return [[turn for turn in turns if since <= turn[0] < until] for turns in noted]
