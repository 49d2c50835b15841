"""A pipe with a name, between a test and a process that it has not started itself."""

from __future__ import annotations

import os
import select
from pathlib import Path

LONG = 30.0


class Fifo:
    """Open for both, so that nobody waits for somebody to open the other end."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def wait(self) -> None:
        """Until somebody has said something."""
        ready, _, _ = select.select([self._end], [], [], LONG)
        assert ready, "nobody says anything"

    def say(self) -> None:
        os.write(self._end, b"now\n")

    def close(self) -> None:
        os.close(self._end)
