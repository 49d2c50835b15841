"""Bugs to plant in the real code, and whether worlds show them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SEEDS = 2_000


@dataclass(frozen=True)
class Plant:
    """One wrong idea, as a small patch of one module."""

    idea: str
    module: str
    patch: tuple[tuple[str, str], ...]
    weather: Mapping[str, object] | None = None
    """What goes wrong in all of the worlds, where the usual weather seldom shows it."""
    first: int = 0
    """Of the worlds, the first that is played: what is found late would take long to find anew each time."""

    def is_caught(self, kind: Literal["locks", "cron", "quorum", "registers"]) -> bool:
        """Whether one of many worlds of that kind shows it."""
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("planted.py")), self.module, str(SEEDS), kind],
            input=json.dumps({"patch": self.patch, "weather": self.weather, "first": self.first}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return bool(done.stdout)
