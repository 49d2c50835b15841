"""A front door for programs that run as several processes: `dibs.supervise("shop.jobs:d", workers=4)`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dibs.errors import ConfigError
from dibs.model.duration import seconds
from dibs.runtime.supervisor import Program, Supervisor
from dibs.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.events.workers import WorkerEvent
    from dibs.model.duration import Duration

LOCALHOST = "127.0.0.1"
MOST_WORKERS = 1_000
LAST_PORT = 65_535
GRACE = 30.0


def supervise(  # noqa: PLR0913 - a front door names all that can be said at it
    target: str,
    *,
    workers: int,
    port: int | None = None,
    host: str = LOCALHOST,
    app: str | None = None,
    grace: Duration = GRACE,
    quiet: bool = True,
    tell: Callable[[WorkerEvent], object] | None = None,
) -> int:
    """Have so many processes serve the client that `target` names, as `dibs serve` does, until SIGTERM or SIGINT.

    Worker 1 listens on `port` + 1, and so on, and serves `app` there, or else what `dibs.web.app` makes. One that dies
    is started again under its number; SIGHUP starts all anew, one after the other. Gives the exit code: 0, or 1 if no
    worker came up. What happens is logged, and told to `tell`; unless `quiet`, workers that set up no logging get some.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ConfigError("supervise() heeds signals, and Python gives them to the main thread: call it there")
    program = Program(
        target=str(Target.of(target, option="target")),
        host=_checked_host(host),
        port=checked_port(port, _checked_workers(workers)),
        app=None if app is None else str(Target.of(app, option="app")),
        grace=_checked_grace(grace),
        is_quiet=quiet,
    )
    if app is not None and port is None:
        raise ConfigError(f"app={app!r} needs a port to be served on: give one with port=")
    return Supervisor(program, workers, tell=tell).run()


def checked_port(port: object, workers: int) -> int | None:
    """The port, if each worker has one above it."""
    if port is None:
        return None
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= LAST_PORT:
        raise ConfigError(f"port={port!r}: from 1 to {LAST_PORT}")
    if port + workers > LAST_PORT:
        raise ConfigError(
            f"port={port}: worker {workers} would listen on {port + workers}, and {LAST_PORT} is the last"
        )
    return port


def _checked_workers(workers: object) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise ConfigError(f"workers={workers!r}: give a whole number from 1 to {MOST_WORKERS}")
    return workers


def _checked_host(host: object) -> str:
    if not isinstance(host, str) or not host:
        raise ConfigError(f"host={host!r}: name an address of this machine, as in {LOCALHOST!r}")
    return host


def _checked_grace(grace: object) -> float:
    try:
        return seconds(grace)
    except ValueError as fault:
        raise ConfigError(f"grace: {fault}") from None
