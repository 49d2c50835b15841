"""The table, for a terminal and for `RESULTS.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import dibs
from bench.rounds import Row

RESULTS = Path(__file__).with_name("RESULTS.md")
HEAD = ("name", "figure", "unit", "spread", "ratio", "to")
TO_THE_RIGHT = {"figure", "spread", "ratio"}


def text(rows: Sequence[Row]) -> str:
    """The table with its columns in line."""
    cells = [HEAD, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_aligned(line, widths) for line in cells)


def write(rows: Sequence[Row], command: str, *, load: float) -> None:
    """Keep the table, with what is needed to get it again."""
    lines = [HEAD, ["---:" if name in TO_THE_RIGHT else "---" for name in HEAD], *map(_cells, rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    RESULTS.write_text(
        f"# What it costs\n\n{_circumstances(load)}\n\n```console\n$ {command}\n```\n\n{table}\n", "utf-8"
    )


def is_busy(load: float) -> bool:
    """Whether others need so much of this machine that the figures tell more of them than of us."""
    return load > (os.cpu_count() or 1) / 2


def _circumstances(load: float) -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the start"
    return f"dibs {dibs.__version__}, {python}, {machine}."


def _cells(row: Row) -> Sequence[str]:
    ratio = "" if row.ratio is None else f"{row.ratio:,.2f}x" if row.ratio < 10 else f"{row.ratio:,.0f}x"
    spread = f"±{row.spread:.0%}" if len(row.rounds) > 1 else ""
    return row.name, _figure(row.figure), row.unit, spread, ratio, row.contender


def _figure(figure: float) -> str:
    if figure >= 100 or figure == int(figure):
        return f"{figure:,.0f}"
    return f"{figure:.3g}"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = zip(HEAD, line, widths, strict=True)
    return "  ".join(
        cell.rjust(width) if name in TO_THE_RIGHT else cell.ljust(width) for name, cell, width in cells
    ).rstrip()
