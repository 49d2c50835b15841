"""One run: which parts of it are wanted, what they tell together, and where that is kept."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence

from bench import awake, embedded, history, quorum, table, targets
from bench.crew import preload
from bench.cron import scenarios as cron
from bench.redis import scenarios
from bench.section import Section

PARTS = ("embedded", "redis", "topologies", "quorum", "cron", "history")
EMBEDDED, REDIS, TOPOLOGIES, QUORUM, CRON, HISTORY = PARTS
COMMAND = "make bench ARGS=--write"
PRELOADED = ("bench.processes", "bench.redis.idle", "bench.redis.contending", "bench.redis.cycling", "redis.asyncio")
"""What the processes of a crew need, most of them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the table if asked to."""
    options = _options(argv)
    signal.signal(signal.SIGTERM, _leave)
    load = os.getloadavg()[0]
    if table.is_busy(load):
        print(f"this machine is busy (load {load:.1f}): look at the spread before you trust a figure", file=sys.stderr)
    preload(*PRELOADED)
    with awake.kept_awake():
        sections = [_section(part, is_quick=options.quick) for part in ([options.only] if options.only else PARTS)]
    report = _report(sections, [*_notes(sections, is_quick=options.quick)])
    print(report.text())
    if options.write:
        table.RESULTS.write_text(report.page(COMMAND, load=load), "utf-8")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and print one table.")
    parser.add_argument("--quick", action="store_true", help="some seconds, for a first look; the figures jump about")
    parser.add_argument(
        "--only",
        choices=PARTS,
        help="one part of it: what needs no server, locks on Redis, its topologies or a quorum, jobs, or histories",
    )
    parser.add_argument("--write", action="store_true", help="also write the table to bench/RESULTS.md")
    options = parser.parse_args(argv)
    if options.write and (options.quick or options.only):
        parser.error("--write keeps the table of a full run: leave out --quick and --only")
    return options


def _leave(*_: object) -> None:
    """Told to end: as after Ctrl-C, so that nothing of ours is left behind."""
    sys.exit(128 + signal.SIGTERM)


def _section(part: str, *, is_quick: bool) -> Section:
    if part == EMBEDDED:
        return embedded.section(embedded.QUICK if is_quick else embedded.FULL)
    if part == TOPOLOGIES:
        from bench import topologies  # noqa: PLC0415 - it takes redis-py, which need not be there

        return topologies.section(topologies.QUICK if is_quick else topologies.FULL)
    if part == HISTORY:
        return history.section(history.QUICK if is_quick else history.FULL)
    if part == QUORUM:
        return quorum.section(quorum.QUICK if is_quick else quorum.FULL)
    if part == CRON:
        return cron.section(cron.QUICK if is_quick else cron.FULL)
    return scenarios.section(scenarios.QUICK if is_quick else scenarios.FULL)


def _report(sections: Sequence[Section], notes: Sequence[str]) -> table.Report:
    rows = [row for section in sections for row in section.rows]
    wanted = [target for section in sections for target in section.targets]
    beside = [peer for section in sections for peer in section.beside]
    servers = [section.server for section in sections if section.server]
    return table.Report(rows, targets.judged(rows, wanted), notes, servers=servers, beside=beside)


def _notes(sections: Sequence[Section], *, is_quick: bool) -> Iterator[str]:
    if is_quick:
        yield "a quick run is a first look: its figures and verdicts come from too little time and too few others"
    if not awake.is_possible():
        yield awake.NOT_KEPT_AWAKE
    for section in sections:
        yield from section.notes
    if missing := [peer for section in sections for peer in section.missing]:
        yield f"skipped, as they come with `make bench`: {', '.join(missing)}"
