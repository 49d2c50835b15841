"""What somebody asks of the server who has nothing to do: seen from another process, which asks nothing in between."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bench.crew import Meet, pause
from bench.redis.line import HOST

SCRIPTED = frozenset({"eval", "evalsha", "script", "subscribe", "ping", "hello"})
"""All that we send, but for one INFO at the start. Redis also counts what scripts do, though nobody has sent that."""
POLLED = frozenset({"set"})
"""What one sends who looks again and again whether the lock is free."""


def commands(control: Any, words: Collection[str], span: float, meet: Meet) -> int:
    """How many of them were sent, between all being ready and all having been seen."""
    meet()
    before = _calls(control, words)
    pause(span)
    after = _calls(control, words)
    meet()
    return after - before


def _calls(control: Any, words: Collection[str]) -> int:
    stats = control.info("commandstats").items()
    return sum(told["calls"] for name, told in stats if name.removeprefix("cmdstat_").partition("|")[0] in words)


def connections(port: int) -> int:
    """How many this process has to the server."""
    return sum(_leads_to(port, int(file.name)) for file in Path("/dev/fd").iterdir())


def _leads_to(port: int, number: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(number)) as line:
            peer: object = line.getpeername()
    except OSError:  # no connection, or none any more
        return False
    return peer == (HOST, port)
