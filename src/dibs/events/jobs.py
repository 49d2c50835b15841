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
class RunLeftBehind:
    """A run of this node's does not count any more, and did not stop when its time was over: it may go on for ever."""

    job: str
    tick: float
    attempt: int
    running_for: float


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


@value
class ScheduleChanged:
    """From now on a schedule is what this node's code says: it was deployed later than what held before."""

    job: str
    rule: str
    node: str


@value
class DefinitionOutdated:
    """What this node's code says of a schedule does not hold: something else was deployed after it, or said as data."""

    job: str
    rule: str
    holds: str
    """What does."""


@value
class ScheduleRetired:
    """A schedule is run no more: no live node's code defines it."""

    job: str


@value
class SheetUnreadable:
    """A sheet cannot be read here, and is left alone: a newer dibs has written it, or another hand."""

    name: str
    why: str


@value
class Acted:
    """Somebody has done something to a job, or to the whole fleet (`job` is "")."""

    job: str
    act: str
    by: str
    reason: str


@value
class NodeDown:
    """A node of the fleet was not heard of for so many seconds, and did not say that it leaves."""

    node: str
    silent_for: float


JobEvent = (
    Acted
    | ClaimingPaused
    | DefinitionOutdated
    | JobUnbound
    | NodeDown
    | RunBegun
    | RunBuried
    | RunEnded
    | RunForsaken
    | RunLeftBehind
    | RunSlow
    | ScheduleChanged
    | ScheduleRetired
    | Serving
    | ServingEnded
    | SheetUnreadable
    | TickPassed
)
