"""What happens to the workers of a supervisor."""

from __future__ import annotations

from dibs.model.value import value


@value
class WorkerStarted:
    """The process of a worker was started."""

    worker: int
    pid: int


@value
class WorkerReady:
    """A worker serves; by HTTP, too, if there is a port. It took so many seconds."""

    worker: int
    pid: int
    after: float
    port: int | None


@value
class WorkerSilent:
    """A worker was "silent for 10s", or "not ready after 1m", and is killed."""

    worker: int
    pid: int
    why: str


@value
class WorkerDied:
    """The process of a worker has ended, and nobody had asked it to."""

    worker: int
    pid: int
    how: str


@value
class WorkerRestarting:
    """A worker is started again under its number, after a pause if it had died at once."""

    worker: int
    pause: float


@value
class WorkerNotUp:
    """So many starts of a worker in a row came to nothing; the last one for this reason."""

    worker: int
    tries: int
    how: str


@value
class WorkerEnded:
    """A worker has ended as it should, by itself or as it was asked to."""

    worker: int
    pid: int


@value
class WorkersLeaving:
    """All workers were asked to leave, as the primary is to end; `is_hurried` if they are not to finish anything."""

    why: str
    is_hurried: bool


@value
class WorkersRolling:
    """One worker after the other is started anew."""

    workers: tuple[int, ...]


@value
class PrimaryLost:
    """The primary of this worker is gone: the worker leaves, too."""

    worker: int


WorkerEvent = (
    WorkerStarted
    | WorkerReady
    | WorkerSilent
    | WorkerDied
    | WorkerRestarting
    | WorkerNotUp
    | WorkerEnded
    | WorkersLeaving
    | WorkersRolling
    | PrimaryLost
)
