"""`dibs demo`: see a lock at work, lose a worker every two seconds, and get the proof at the end."""

from __future__ import annotations

import argparse
import sys

from dibs.model.duration import seconds

SUMMARY = "four threads and four tasks want one lock, and one of them dies every two seconds"

DESCRIPTION = f"""\
{SUMMARY.capitalize()}.

Each turn reads a counter, works a little, and writes it back with the fence of its lease. The counter
trusts no lock: it refuses a fence below the newest and notices two at once. It has the last word.
Needs no server: the store is in this process's memory.
"""

EXIT_CODES = """\
exit codes:
  0  no two were inside at once (also when it was ended by Ctrl-C)
  1  two were, or something else went wrong; the last lines say what
  2  the command line makes no sense
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
    parser.set_defaults(command=_command)


def _command(options: argparse.Namespace) -> int:
    # Imported here because it brings asyncio, which no other command needs.
    from dibs.cli.demo.play import play  # noqa: PLC0415

    length: float | None = options.seconds
    if length is None and not sys.stdout.isatty():
        length = WHEN_NOBODY_WATCHES
    return play(length)


def _length(text: str) -> float:
    is_bare_number = text.replace(".", "", 1).isdecimal()
    try:
        length = seconds(f"{text}s" if is_bare_number else text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if length == 0:
        raise argparse.ArgumentTypeError("there is nothing to see in no time; give at least a second or two")
    return length
