"""A file that is asked directly, at moments that the test chooses."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from dibs.model.asks import Acquire, Granted, Leave, Memo, Push, Renew
from dibs.stores.sqlite.schema import prepare
from dibs.stores.sqlite.server import SqliteTurn

BOOT = "this boot"
TTL = 10.0
WALL = 1_700_000_000.0
"""What the time of day is when the boot clock says 0."""


def nobody(_: str) -> bool:
    return False


class Turns:
    """One database, its clock, and who listens."""

    def __init__(self, file: str = ":memory:") -> None:
        self.now = 100.0
        self.deaf: set[str] = set()
        self.pushes: Sequence[Push] = ()
        self.db = sqlite3.connect(file, isolation_level=None)
        prepare(self.db, BOOT, nobody)

    @property
    def wall(self) -> float:
        return WALL + self.now

    def execute(self, *words: Any) -> Any:
        turn = SqliteTurn(self.db, self.now, self.wall, BOOT, lambda channel: channel not in self.deaf)
        self.db.execute("BEGIN IMMEDIATE")
        answer = turn.execute(words)
        self.db.execute("COMMIT")
        self.pushes = turn.pushes
        return answer

    def ask(self, owner: str, room: int = 1, *, ttl: float = TTL, queue: bool = True) -> Any:
        return self.execute("ask", "a", self.wish(owner, room, ttl=ttl, queue=queue))

    def enter(self, owner: str, room: int = 1, *, ttl: float = TTL) -> int:
        answer = self.ask(owner, room, ttl=ttl)
        assert isinstance(answer, Granted)
        return answer.fence

    def renew(self, owner: str, fence: int, *, ttl: float = TTL, depth: int = 0) -> Any:
        return self.execute("ask", "a", Renew(owner, fence, ttl, depth))

    def leave(self, owner: str, memo: Memo | None = None) -> Any:
        return self.execute("ask", "a", Leave(owner, memo=memo))

    def wish(self, owner: str, room: int = 1, *, ttl: float = TTL, queue: bool = True) -> Acquire:
        return Acquire(owner, ttl, self.now + ttl, f"{owner}'s channel", owner, queue=queue, room=room)

    def holders(self, name: str = "a") -> list[str]:
        return [held.who for held in self.execute("inspect", name).holders]

    def rows(self, table: str) -> int:
        [rows] = self.db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(rows)
