"""`python -m bench`: measure everything and print one table; `--write` keeps it in `bench/RESULTS.md`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import contention, crowd, cycles, idle, importing, peers, processes, table, targets, worlds
from bench.rounds import Effort, Row


@dataclass(frozen=True, slots=True)
class Efforts:
    """How much time goes into which figures."""

    cycles: Effort
    contention: Effort
    processes: Effort
    idle: Effort
    crowd: int
    """How many hold locks and wait for them while we measure."""


QUICK = Efforts(Effort(3, 0.03), Effort(3, 0.15), Effort(2, 0.15), Effort(1, 0.2), crowd=200)
FULL = Efforts(Effort(15, 0.2), Effort(9, 0.8), Effort(5, 2.0), Effort(3, 10.0), crowd=10_000)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the table if asked to."""
    options = _options(argv)
    signal.signal(signal.SIGTERM, _leave)
    load = os.getloadavg()[0]
    if table.is_busy(load):
        print(f"this machine is busy (load {load:.1f}): look at the spread before you trust a figure", file=sys.stderr)
    report = _report(QUICK if options.quick else FULL)
    print(report.text())
    if options.write:
        command = 'make bench ARGS="--quick --write"' if options.quick else "make bench ARGS=--write"
        table.RESULTS.write_text(report.page(command, load=load), "utf-8")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and print one table.")
    parser.add_argument("--quick", action="store_true", help="some seconds, for a first look; the figures jump about")
    parser.add_argument("--write", action="store_true", help="also write the table to bench/RESULTS.md")
    return parser.parse_args(argv)


def _leave(*_: object) -> None:
    """Told to end: as after Ctrl-C, so that nothing of ours is left behind."""
    sys.exit(128 + signal.SIGTERM)


def _report(efforts: Efforts) -> table.Report:
    rows = _measured(efforts)
    judgements = targets.judged(rows, targets.embedded(efforts.crowd))
    return table.Report(rows, judgements, [*_notes(is_quick=efforts is QUICK)])


def _notes(*, is_quick: bool) -> Iterator[str]:
    if is_quick:
        yield "a quick run is a first look: its figures and verdicts come from too little time and too few others"
    if missing := peers.missing():
        yield f"skipped, as they come with `make bench`: {', '.join(missing)}"


def _measured(efforts: Efforts) -> list[Row]:
    return [
        *importing.rows(rounds=efforts.cycles.rounds * 2),
        *cycles.rows(efforts.cycles),
        *crowd.rows(efforts.cycles, efforts.crowd),
        *contention.rows(efforts.contention),
        *processes.rows(efforts.processes),
        *idle.rows(efforts.idle),
        *worlds.rows(efforts.contention),
    ]


if __name__ == "__main__":
    sys.exit(main())
