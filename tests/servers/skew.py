"""A server whose wall clock can be set while it runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from time import time

from tests.chaos.moments import so
from tests.servers.server import Server

NO_SHIM = (
    "no LD_PRELOAD on this machine"
    if sys.platform != "linux"
    else "no gcc on this machine"
    if shutil.which("gcc") is None
    else ""
)
"""Why a clock cannot be set here; nothing if it can."""
NEAR = 0.5


def shim_in(folder: Path) -> Path:
    """What makes it so, compiled for this run."""
    made = folder / "skew.so"
    source = Path(__file__).with_name("skew.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


def at_true_time(folder: Path) -> Path:
    """The file that says how far off a clock is."""
    file = folder / "skew"
    file.write_bytes(bytes(8))
    return file


def environment(shim: Path, file: Path) -> dict[str, str]:
    return {"LD_PRELOAD": str(shim), "SKEW_FILE": str(file)}


class Skewed:
    """Such a server."""

    def __init__(self, server: Server, file: Path) -> None:
        self.server, self._file, self._by = server, file, 0

    def set(self, seconds: int) -> None:
        """So far from the true time; a server may take a moment to look at its clock."""
        self._by = seconds
        with self._file.open("r+b") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))
        assert self._is_set() or so(self._is_set).wait(5)

    def step(self, seconds: int) -> None:
        """So much further."""
        self.set(self._by + seconds)

    def _is_set(self) -> bool:
        whole, micros = map(int, self.server.ask("TIME"))
        return abs(whole + micros / 1e6 - time() - self._by) < NEAR
