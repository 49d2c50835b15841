"""TCP ports that nobody else takes while we use them."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress

HOST = "127.0.0.1"
LOWEST, HIGHEST = 10_000, 32_000
"""Below those that a system gives to whoever asks for any: a server that is down for a while finds its port free."""


class Port:
    """A free port. Its UDP twin is held until it is closed, so that no other process of ours takes the same."""

    def __init__(self) -> None:
        twin = None
        while twin is None:
            # Not from `random`: pytest-randomly seeds it alike in all workers, which would then want the same ports.
            twin = _twin(LOWEST + secrets.randbelow(HIGHEST - LOWEST))
        self._twin = twin
        self.number: int = twin.getsockname()[1]

    def close(self) -> None:
        self._twin.close()


class Row:
    """So many free ports in a row, held in the same way: for programs that are told the one before the first."""

    def __init__(self, length: int) -> None:
        twins: list[socket.socket | None] = [None]
        while None in twins:
            _close(twins)
            self.before = LOWEST + secrets.randbelow(HIGHEST - LOWEST - length)
            twins = [_twin(self.before + place) for place in range(1, length + 1)]
        self._twins = twins

    def close(self) -> None:
        _close(self._twins)


def _close(twins: Sequence[socket.socket | None]) -> None:
    for twin in filter(None, twins):
        twin.close()


def _twin(number: int) -> socket.socket | None:
    twin = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with suppress(OSError), socket.socket() as probe:
        twin.bind((HOST, number))
        probe.bind((HOST, number))
        return twin
    twin.close()
    return None
