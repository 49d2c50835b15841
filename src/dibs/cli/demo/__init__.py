"""`dibs demo`: see a lock at work, lose a worker every few seconds, and get the proof at the end."""

from __future__ import annotations

import argparse
import sys

from dibs.model.duration import seconds

SUMMARY = "four processes want one lock, and every few seconds the one that holds it is killed"

DESCRIPTION = f"""\
{SUMMARY.capitalize()}.

Each turn reads a counter, works a little, and writes it back with the fence of its lease. The counter
trusts no lock: it refuses a fence that is not above the newest, and notices two at once. Each second
there is also a job to do, which all four try to do and one does. Now and then the holder is not killed
but paused until another has taken over; then its late write must be refused. The counter has the last word.

Needs no server of yours: it starts a Valkey where the extra dibs-lock[valkey] is installed, and uses a
file elsewhere, both in a temporary folder. DIBS_URL is not looked at.
"""

EXIT_CODES = """\
exit codes:
  0   no two were inside at once (also when it was ended by Ctrl-C)
  1   two were, or something else went wrong; the last lines say what
  2   the command line makes no sense
  69  the store cannot be reached
  78  the store's URL makes no sense
"""

WHEN_NOBODY_WATCHES = 10.0


def describe(parser: argparse.ArgumentParser) -> None:
    """Say what the command does and which options it takes."""
    parser.description, parser.epilog = DESCRIPTION, EXIT_CODES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--seconds",
        type=_length,
        metavar="N",
        help="end after so long, as in 8, 8s or 1m (default: at Ctrl-C; 10s if stdout is not a terminal)",
    )
    parser.add_argument(
        "--url",
        metavar="URL",
        help="use this store, in a namespace of its own, as in sqlite:////tmp/demo.sqlite (default: a private one)",
    )
    parser.set_defaults(command=_command)


def _command(options: argparse.Namespace) -> int:
    # Imported here because it brings asyncio and SQLite, which no other command needs.
    from dibs.cli.demo.play import play  # noqa: PLC0415

    length: float | None = options.seconds
    if length is None and not sys.stdout.isatty():
        length = WHEN_NOBODY_WATCHES
    return play(length, options.url)


def _length(text: str) -> float:
    is_bare_number = text.replace(".", "", 1).isdecimal()
    try:
        length = seconds(f"{text}s" if is_bare_number else text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if length == 0:
        raise argparse.ArgumentTypeError("there is nothing to see in no time; give at least a second or two")
    return length
