"""Keeps the cores of a virtual machine from falling asleep, which costs more than what is to be measured.

An idle virtual core is woken by its host, for each message anew, in some 50 µs. A loop that runs only when nobody else
wants to keeps it awake, and takes no time from anybody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context

NOT_KEPT_AWAKE = "cores may fall asleep between two messages, as this system lets nobody keep them awake"


def is_possible() -> bool:
    """Whether there is a way to run only when nobody else wants to."""
    return hasattr(os, "SCHED_IDLE") and hasattr(os, "sched_setaffinity")


@contextmanager
def kept_awake() -> Iterator[None]:
    """All cores that we may use, meanwhile."""
    if not is_possible():
        yield
        return
    context = get_context("spawn")
    loops = [context.Process(target=_idle, args=(core,), daemon=True) for core in os.sched_getaffinity(0)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _idle(core: int) -> None:
    os.sched_setaffinity(0, [core])
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    parent = os.getppid()
    while os.getppid() == parent:
        for _ in range(100_000):
            pass
