"""What a process has used, as Linux tells it."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def is_told() -> bool:
    """Whether this system tells."""
    return (PROC / "self" / "stat").exists()


def cpu_of(pid: int) -> float:
    """Seconds of a processor until now."""
    fields = (PROC / str(pid) / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """Megabytes that are in memory now."""
    fields = (PROC / str(pid) / "statm").read_text("ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
