"""A clock that is behind: a library in front of libc's, so that nothing in a process sees the true time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.redis.pingpong import compiler

SOURCE = Path(__file__).parents[2] / "tests" / "servers" / "skew.c"
NONE = "no LD_PRELOAD" if sys.platform != "linux" else "no C compiler" if compiler() is None else ""
"""Why no clock can be set here; nothing if it can."""


class NotBehind(Exception):
    """A process sees the true time: then nothing was shown of a clock that is off."""


def behind(folder: Path, seconds: int) -> Mapping[str, str]:
    """What makes a process be so far behind."""
    shim, file = folder / "skew.so", folder / "skew"
    words = [str(compiler()), "-O2", "-shared", "-fPIC", "-o", str(shim), str(SOURCE)]
    subprocess.run(words, check=True)  # noqa: S603
    file.write_bytes((-seconds).to_bytes(8, sys.byteorder, signed=True))
    around = {"LD_PRELOAD": str(shim), "SKEW_FILE": str(file)}
    if not seconds - 1 < _seen_late(around) < seconds:
        raise NotBehind(f"a process is not {seconds}s behind, with {around}")
    return around


def _seen_late(around: Mapping[str, str]) -> float:
    """By how many seconds a process that began before now is behind, at least."""
    words = [sys.executable, "-c", "import time; print(time.time())"]
    began_at = time.time()
    said = subprocess.run(words, env={**os.environ, **around}, capture_output=True, check=True).stdout  # noqa: S603
    return began_at - float(said)
