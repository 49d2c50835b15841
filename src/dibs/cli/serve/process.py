"""A process of `dibs serve`: alone, as the primary, or as one of its workers."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

from dibs.cli.codes import exit_code
from dibs.client import Dibs
from dibs.errors import ConfigError, DibsError
from dibs.runtime.supervisor.lifeline import PATH, Lifeline
from dibs.target import Target
from dibs.web.presence import worker_id
from dibs.web.worker import Site, Worker

if TYPE_CHECKING:
    import argparse

LINE = "%(asctime)s %(levelname)s {who}: %(message)s"


def serve(options: argparse.Namespace) -> int:
    """Serve as the options say, and give the exit code."""
    _find_modules()
    if options.workers is not None:
        return _as_primary(options)
    if (lifeline := Lifeline.inherited()) is not None:
        return _as_worker(options, lifeline)
    _at_work(options, None)
    return 0


def _as_primary(options: argparse.Namespace) -> int:
    from dibs.supervision import supervise  # noqa: PLC0415 - the others need none of it

    if not options.quiet:
        _set_up_logging("primary")
    return supervise(
        options.target,
        workers=options.workers,
        port=options.port,
        host=options.host,
        app=options.app,
        grace=options.grace,
        quiet=options.quiet,
    )


def _as_worker(options: argparse.Namespace, lifeline: Lifeline) -> int:
    """What is wrong is told to the primary: it tells it once, and not as often as there are workers."""
    try:
        _at_work(options, lifeline)
    except DibsError as error:
        lifeline.say("fault", str(error))
        return exit_code(error)
    except Exception as error:
        lifeline.say("fault", f"{type(error).__name__}: {error}")
        raise
    finally:
        lifeline.keep()
    return 0


def _at_work(options: argparse.Namespace, lifeline: Lifeline | None) -> None:
    client = _client(options.target)
    site = _site(options, client)
    if not options.quiet:
        _set_up_logging(f"worker {worker_id()}" if lifeline else "dibs")
    asyncio.run(Worker(client, site, grace=options.grace, lifeline=lifeline).run())


def _client(target: str) -> Dibs:
    found = Target.of(target).load()
    if not isinstance(found, Dibs):
        raise ConfigError(
            f"{target} is no client, but of type {type(found).__name__}: name what dibs.connect() gave you"
        )
    return found


def _site(options: argparse.Namespace, client: Dibs) -> Site | None:
    if options.port is None:
        return None
    if options.app is None:
        from dibs.web import app  # noqa: PLC0415 - it brings Starlette, which is not always there

        return Site(app(client), options.host, options.port)
    found = Target.of(options.app).load()
    if not callable(found):
        raise ConfigError(
            f"{options.app} is no application, but of type {type(found).__name__}: name an ASGI application"
        )
    return Site(found, options.host, options.port)


def _find_modules() -> None:
    """As the primary finds them; and in any case those of the folder we are in, as `python -m` does."""
    if path := os.environ.pop(PATH, ""):
        sys.path[:] = path.split(os.pathsep)
    here = os.getcwd()  # noqa: PTH109 - that is how sys.path has it
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _set_up_logging(who: str) -> None:
    """Show what dibs tells, unless the program has set up logging of its own."""
    if logging.getLogger().handlers:
        return
    logging.basicConfig(format=LINE.format(who=who))
    if (logger := logging.getLogger("dibs")).level == logging.NOTSET:
        logger.setLevel(logging.INFO)
