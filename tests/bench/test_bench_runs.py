"""The benchmark runs, and leaves nothing out. What it finds is for people to judge."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

ROWS = [
    "start of bare Python",
    "start with import dibs",
    "start with a client",
    "third-party modules imported",
    *(
        f"cycle, {who}: {what}"
        for who in ("1 thread", "1 task", "16 tasks")
        for what in ("stdlib lock", "memory://", "flow alone")
    ),
    *(
        f"{figure}, {who}: {what}"
        for who in ("8 threads", "64 tasks")
        for figure in ("hand-overs", "fairness")
        for what in ("stdlib lock", "memory://")
    ),
    "simulated worlds on one core",
]


def test_a_quick_bench_prints_a_row_for_every_scenario() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["name", "figure", "unit", "spread", "ratio", "to"]
    assert [line.partition("  ")[0] for line in lines] == ROWS
