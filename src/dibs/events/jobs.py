"""What happens to jobs and their runs."""

from __future__ import annotations

from dibs.model.value import value


@value
class Serving:
    """A node takes part in running these jobs."""

    node: str
    jobs: tuple[str, ...]


@value
class JobUnbound:
    """A method has a schedule and nobody runs it: `d.bind` was not told of which instance."""

    job: str
    function: str


@value
class ServingEnded:
    """A node has stopped to take part; so many runs were not ended, and were handed back or given up."""

    node: str
    unfinished: int


@value
class RunBegun:
    """This node runs a tick of a job, so many seconds after its time."""

    job: str
    tick: float
    attempt: int
    fence: int
    lateness: float


@value
class RunEnded:
    """An attempt of this node's has ended; unless it `is_last`, another follows."""

    job: str
    tick: float
    attempt: int
    outcome: str
    reason: str
    duration: float
    is_last: bool


@value
class RunSlow:
    """A run takes longer than is expected of it."""

    job: str
    tick: float
    attempt: int
    running_for: float
    expect: float


@value
class RunForsaken:
    """A run of this node's does not count any more: it could not be renewed in time, or was given to another node."""

    job: str
    tick: float
    attempt: int
    reason: str


@value
class RunBuried:
    """Another node's run was given up, as it was not renewed; unless it `is_last`, it is begun once more."""

    job: str
    tick: float
    attempt: int
    node: str
    is_last: bool


@value
class TickPassed:
    """A tick was not run: it was "missed" or "skipped"."""

    job: str
    tick: float
    outcome: str
    reason: str


@value
class ClaimingPaused:
    """For so many seconds this node claims nothing: the store's clock has jumped, or the store was started anew."""

    server: str
    why: str
    lasts: float
