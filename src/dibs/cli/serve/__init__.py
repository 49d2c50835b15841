"""`dibs serve`: run the jobs of a client, and HTTP beside them, in this process or in several that are watched."""

from __future__ import annotations

import argparse
from functools import partial

from dibs.errors import ConfigError
from dibs.model.duration import seconds

SUMMARY = "run the jobs of a client, in one process or in several that are watched and restarted"

DESCRIPTION = f"""\
{SUMMARY.capitalize()}.

TARGET is a client by its module, as in shop.jobs:d. Without --workers this process serves. With it, this
process is a primary: it starts so many workers, starts one again under its number when it dies, and kills
one that is silent for 10 seconds. A worker that ends by itself without an error is not started again.

With --port each worker answers by HTTP on that port plus its number (worker 1 of --port 3000 on 3001), and
without --workers this process on the port itself: GET /status, /health, /health/live, /health/ready, and
what the application of --app adds. That needs the extra dibs-lock[web].

signals:
  SIGTERM, SIGINT   finish what is in hand, within the grace, then end; a second one: at once
  SIGHUP            start the workers anew, one after the other, each when the last one is ready
"""

EXIT_CODES = """\
exit codes:
  0   it was told to end, or all workers have ended by themselves
  1   no worker came up, or the port is taken; the last lines say why
  2   the command line makes no sense
  69  the store cannot be reached
  78  the configuration makes no sense, such as a module that is not there
"""

LAST_PORT = 65_535
MOST_WORKERS = 1_000


def describe(parser: argparse.ArgumentParser) -> None:
    """Say what the command does and which options it takes."""
    parser.description, parser.epilog = DESCRIPTION, EXIT_CODES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "target", type=_target, metavar="TARGET", help="a module and the client in it, as in shop.jobs:d"
    )
    parser.add_argument("--workers", type=_workers, metavar="N", help="how many processes (default: this one alone)")
    parser.add_argument("--port", type=_port, metavar="P", help="answer by HTTP there (default: no HTTP)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--app",
        type=_target,
        metavar="MODULE:APP",
        help="an ASGI application, best one that dibs.web.app(d, routes=[...]) has made (default: dibs.web.app(d))",
    )
    parser.add_argument(
        "--grace", type=_grace, default=30.0, metavar="TIME", help="how long to finish what is in hand (default: 30s)"
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="set up no logging (else what dibs tells goes to stderr, if nobody set up any)",
    )
    parser.set_defaults(command=partial(_command, parser))


def _command(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.app is not None and options.port is None:
        parser.error("--app needs a --port to be served on")
    if (options.port or 0) + (options.workers or 0) > LAST_PORT:
        parser.error(f"--port {options.port}: worker {options.workers} would listen beyond the last port, {LAST_PORT}")
    # Imported here because it brings asyncio and processes, which no other command needs.
    from dibs.cli.serve.process import serve  # noqa: PLC0415

    return serve(options)


def _target(text: str) -> str:
    from dibs.target import Target  # noqa: PLC0415 - needed by this command only

    try:
        return str(Target.of(text))
    except ConfigError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None


def _workers(text: str) -> int:
    return _whole_number(text, MOST_WORKERS)


def _port(text: str) -> int:
    return _whole_number(text, LAST_PORT)


def _whole_number(text: str, most: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
    return int(text)


def _grace(text: str) -> float:
    is_bare_number = text.replace(".", "", 1).isdecimal()
    try:
        return seconds(f"{text}s" if is_bare_number else text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
