"""What has come to a proxy and what has passed, to be waited for."""

from __future__ import annotations

import threading

from tests.chaos.stage import LONG


class Tally:
    """Counts from the very first on, over all connections."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._commands: list[str] = []
        self._arrived, self._replies, self._pushes = 0, 0, 0

    @property
    def arrived(self) -> int:
        """How many commands have come, whether they were passed on or not."""
        with self._news:
            return self._arrived

    @property
    def commands(self) -> list[str]:
        """The names of those that were passed on, in order."""
        with self._news:
            return self._commands.copy()

    @property
    def replies(self) -> int:
        """How many were passed on."""
        with self._news:
            return self._replies

    @property
    def pushes(self) -> int:
        """How many messages and notices of subscriptions were passed on, which are no replies."""
        with self._news:
            return self._pushes

    def wait_for(
        self, *, arrived: int = 0, commands: int = 0, replies: int = 0, pushes: int = 0, within: float = LONG
    ) -> None:
        """Wait until there were so many of each."""
        wanted = (arrived, commands, replies, pushes)

        def enough() -> bool:
            there = (self._arrived, len(self._commands), self._replies, self._pushes)
            return all(has >= wants for has, wants in zip(there, wanted, strict=True))

        with self._news:
            assert self._news.wait_for(enough, within), f"waited in vain: {self!r}"

    def count(self, *, arrived: int = 0, command: str | None = None, replies: int = 0, pushes: int = 0) -> None:
        """Note what has just come or passed."""
        with self._news:
            self._arrived += arrived
            self._replies += replies
            self._pushes += pushes
            if command is not None:
                self._commands.append(command)
            self._news.notify_all()

    def __repr__(self) -> str:
        return f"{self._arrived} arrived, passed on: {self._commands}, {self._replies} replies, {self._pushes} pushes"
