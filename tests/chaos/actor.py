"""The far side of `stage`: a program that plays one role, and says and is told things a line at a time."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any


def say(word: str, *facts: Any) -> None:
    """Tell the test how far we are: one write, so that the lines of forked processes don't mix."""
    os.write(1, f"{json.dumps([word, *facts])}\n".encode())


def told(word: str) -> None:
    """Wait until the test says so."""
    heard = _line()
    if heard != word:
        sys.exit(f"waited to be told {word!r}, and was told {heard!r}")


def _line() -> str:
    """From the pipe itself: nothing may stay in a buffer that a forked child would have a copy of."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line.decode().strip()


def main(module: str, role: str, facts: str) -> None:
    getattr(importlib.import_module(module), role)(*json.loads(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
