"""What happens to functions that are called under a lock, or would be."""

from __future__ import annotations

from dibs.model.value import value


@value
class CallAdmitted:
    """A function that is skipped where others are at work has got its lock, at the first try or a later one."""

    name: str
    function: str
    attempt: int


@value
class CallSkipped:
    """A function was not called: somebody else has its lock ("busy"), it was "done" before, or there is an "outage"."""

    name: str
    function: str
    why: str
    holder: str = ""


@value
class CalledUnlocked:
    """A function was called without its lock, since `workflow.lock.enabled` is false. Only the first call is told."""

    name: str
    function: str


@value
class WouldHaveWaited:
    """In shadow mode: this run began at once, and would have waited for its turn."""

    name: str
    holder: str
    waiters: int


@value
class WouldHaveSkipped:
    """In shadow mode: this run would have been refused, since somebody else has the lock and it is not to wait."""

    name: str
    holder: str


@value
class WouldHaveFailed:
    """In shadow mode: this run would have met an error."""

    name: str
    why: str
