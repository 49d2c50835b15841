"""`python -m bench`: measure everything and print one table; `--write` keeps it in `bench/RESULTS.md`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bench import contention, cycles, importing, table, worlds
from bench.rounds import Effort, Row

QUICK = (Effort(3, 0.03), Effort(3, 0.15))
FULL = (Effort(15, 0.2), Effort(9, 0.8))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the table if asked to."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and print one table.")
    parser.add_argument("--quick", action="store_true", help="a few seconds, for a first look; the figures jump about")
    parser.add_argument("--write", action="store_true", help="also write the table to bench/RESULTS.md")
    options = parser.parse_args(argv)
    load = os.getloadavg()[0]
    if table.is_busy(load):
        print(f"this machine is busy (load {load:.1f}): look at the spread before you trust a figure", file=sys.stderr)
    rows = _measured(*(QUICK if options.quick else FULL))
    print(table.text(rows))
    if options.write:
        words = ["python -m bench", *(["--quick"] if options.quick else []), "--write"]
        table.write(rows, " ".join(words), load=load)
    return 0


def _measured(small: Effort, large: Effort) -> list[Row]:
    return [
        *importing.rows(rounds=small.rounds * 2),
        *cycles.rows(small),
        *contention.rows(large),
        *worlds.rows(large),
    ]


if __name__ == "__main__":
    sys.exit(main())
