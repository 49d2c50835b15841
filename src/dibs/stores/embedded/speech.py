"""The few words that we say to a server ourselves."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def answers(path: Path, within: float) -> bool:
    """Whether a server listens there; an `OSError` if it does not answer in time."""
    try:
        return bool(_reply(path, b"PING\r\n", within))
    except (ConnectionError, FileNotFoundError):
        return False


def shut_down(path: Path, within: float) -> None:
    """Ask it to go, whatever it may have against that."""
    _reply(path, b"SHUTDOWN NOSAVE NOW FORCE\r\n", within)


def _reply(path: Path, words: bytes, within: float) -> bytes:
    if within <= 0:
        raise TimeoutError("no time was left to ask it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(within)
        line.connect(os.fsencode(path))
        line.sendall(words)
        return line.recv(512)
