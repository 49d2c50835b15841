"""The command line: one room a command, and none is imported before it is called."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import dibs
from dibs.cli import demo, serve
from dibs.cli.codes import INTERRUPTED, exit_code
from dibs.errors import DibsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXIT_CODES = """\
exit codes:
  0   it went well
  1   the answer is no, or a check failed
  2   the command line makes no sense
  69  the store cannot be reached
  78  the configuration makes no sense, such as a store's URL
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    command: Callable[[argparse.Namespace], int] | None = options.command
    if command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return command(options)
    except DibsError as error:
        print(f"dibs: {error}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain of it once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dibs",
        description=dibs.__doc__,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dibs {dibs.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    demo.describe(commands.add_parser("demo", help=demo.SUMMARY, allow_abbrev=False))
    serve.describe(commands.add_parser("serve", help=serve.SUMMARY, allow_abbrev=False))
    return parser
