"""The tables, for a terminal and for `RESULTS.md`: what was found, and what became of the targets."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from pathlib import Path

import dibs
from bench.rounds import Row
from bench.targets import Judgement

RESULTS = Path(__file__).with_name("RESULTS.md")
FIGURES = ("name", "figure", "unit", "spread", "ratio", "to")
TARGETS = ("target", "wanted", "found", "verdict", "to")
TO_THE_RIGHT = {"figure", "spread", "ratio", "wanted", "found"}


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under a head."""

    head: Sequence[str]
    lines: Sequence[Sequence[str]]

    def text(self) -> str:
        """With its columns in line."""
        cells = [self.head, *self.lines]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(self._aligned(line, widths) for line in cells)

    def markdown(self) -> str:
        """As a page shows it."""
        rule = ["---:" if name in TO_THE_RIGHT else "---" for name in self.head]
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.head, rule, *self.lines))

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = zip(self.head, line, widths, strict=True)
        return "  ".join(
            cell.rjust(width) if name in TO_THE_RIGHT else cell.ljust(width) for name, cell, width in cells
        ).rstrip()


def figures(rows: Sequence[Row]) -> Table:
    """A line for each row."""
    return Table(FIGURES, [*map(_figures, rows)])


def targets(judgements: Sequence[Judgement]) -> Table:
    """A line for each target."""
    return Table(TARGETS, [*map(_target, judgements)])


@dataclass(frozen=True, slots=True)
class Report:
    """All there is to tell."""

    rows: Sequence[Row]
    judgements: Sequence[Judgement]
    notes: Sequence[str] = ()
    servers: Sequence[str] = ()
    """What was measured on, beside files and memory."""
    beside: Sequence[str] = ()
    """What was measured beside us, with its version."""

    def text(self) -> str:
        """For a terminal."""
        return "\n\n".join([figures(self.rows).text(), targets(self.judgements).text(), *self.notes])

    def page(self, command: str, *, load: float) -> str:
        """To keep, with what is needed to get it again."""
        parts = [
            "# What it costs",
            self._circumstances(load),
            f"```console\n$ {command}\n```",
            "## Targets",
            targets(self.judgements).markdown(),
            *self.notes,
            "## Figures",
            figures(self.rows).markdown(),
        ]
        return "\n\n".join(parts) + "\n"

    def _circumstances(self, load: float) -> str:
        python = f"{platform.python_implementation()} {platform.python_version()}"
        stores = ", ".join([f"SQLite {sqlite3.sqlite_version}", *self.servers])
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the start"
        beside = f" Beside it: {', '.join(self.beside)}." if self.beside else ""
        return f"dibs {dibs.__version__}, {python}, {stores}, {machine}.{beside}"


def is_busy(load: float) -> bool:
    """Whether others need so much of this machine that the figures tell more of them than of us."""
    return load > (os.cpu_count() or 1) / 2


def _figures(row: Row) -> Sequence[str]:
    ratio = "" if row.ratio is None else _ratio(row.ratio)
    spread = f"±{row.spread:.0%}" if len(row.rounds) > 1 else ""
    return row.name, _figure(row.figure), row.unit, spread, ratio, row.contender


def _target(judgement: Judgement) -> Sequence[str]:
    target, found = judgement.target, judgement.found
    unit = "x" if target.contender else target.unit
    shown = "" if found is None else _ratio(found) if target.contender else f"{_figure(found)}{unit}"
    wanted = f"{target.bound.value} {target.limit:g}{unit}"
    return target.row, wanted, shown, judgement.verdict.value, target.contender


def _ratio(ratio: float) -> str:
    if isinf(ratio):
        return "∞"
    if ratio < 0.1:
        return f"{ratio:.2g}x"
    return f"{ratio:,.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def _figure(figure: float) -> str:
    if isinf(figure):
        return "∞"
    if figure >= 100 or figure == int(figure):
        return f"{figure:,.0f}"
    return f"{figure:.3g}"
