"""How a worker is told to leave: by its primary, by signals, or by both at once."""

from __future__ import annotations

import asyncio
import signal

import dibs
from dibs.runtime.echo import ECHO, Echo
from dibs.web.worker import HURRY, LEAVE, Worker


def told(*by: str) -> int:
    """How urgent it is after that."""

    async def scene() -> int:
        now = 0.0
        with dibs.connect("memory://", quiet=True) as d:
            worker = Worker(d, None, grace=1.0)
            worker._is_told, worker._echo = asyncio.Event(), Echo(lambda: now)
            for one in by:
                if one == "later":
                    now += ECHO
                elif one == "signal":
                    worker._heed_signal(signal.SIGINT)
                else:
                    worker._be_told(HURRY if one == "hurry" else LEAVE)
            return worker._urgency

    return asyncio.run(scene())


def test_a_second_signal_hurries_it() -> None:
    assert told("signal") == LEAVE
    assert told("signal", "later", "signal") >= HURRY


def test_a_signal_that_somebody_passed_on_as_well_is_one_signal() -> None:
    assert told("signal", "signal", "signal") == LEAVE


def test_a_signal_to_primary_and_workers_at_once_is_one_signal() -> None:
    assert told("leave", "signal") == LEAVE
    assert told("signal", "leave") == LEAVE


def test_a_hurried_worker_stays_hurried() -> None:
    assert told("hurry", "signal", "leave") == HURRY
