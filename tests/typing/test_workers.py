"""Handlers of a worker keep their types. Misuses are refused by both checkers.

Each misuse carries an ignore that both mypy and pyright report as unneeded once they accept it.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import asyncio
from typing import assert_type

import pytest

import dibs
from dibs import Attempt, Finish, StatusLevel

d = dibs.connect("memory://snippets", namespace="workers", quiet=True)


def test_handlers_keep_their_types() -> None:
    worker = d.worker("a", lock_timeout="5s", max_attempts=1, status_level=StatusLevel.Verbose, max_hold="1m")

    @worker.on("acquired")
    def work(last_attempt: bool) -> int:
        worker.done()
        return int(last_attempt)

    @worker.on_status
    async def told(message: str) -> None:
        assert message

    @worker.on("locked")
    def count() -> int:
        return 1

    assert_type(count(), int)
    worker.on("max-attempts")(lambda: None)
    worker.on_error(lambda error: assert_type(error, Exception))
    assert_type(asyncio.run(worker.aacquire()), Finish)


def test_loops_give_attempts() -> None:
    for attempt in d.worker("b").attempts():
        assert_type(attempt, Attempt)
        assert_type(attempt.fence, int)
        attempt.done()


async def never() -> None:
    async for attempt in d.worker("b").attempts():
        assert_type(attempt.lease, dibs.Lease)
        assert_type(attempt.is_last, bool)


def test_misuses_are_refused() -> None:
    worker = d.worker("c")
    with pytest.raises(dibs.ConfigError):
        worker.on("ready")  # type: ignore[call-overload]
    with pytest.raises(dibs.ConfigError):
        d.worker("c", max_attempts="5")  # type: ignore[arg-type]

    def takes_nothing() -> None: ...

    worker.on_acquired(takes_nothing)  # type: ignore[arg-type]
