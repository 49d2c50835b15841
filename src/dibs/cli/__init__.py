"""The command line: one file a noun."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command."""
    return 2 if sys.argv[1:] else 0
