"""The keys in a small table, in a file beside the embedded store."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from dibs import fenced
from dibs.fenced import Fenced
from dibs.stores.embedded.location import folder_of
from dibs.stores.sqlite.location import location
from examples.ads_cluster.keys import ADS, LOG_LENGTH, WARMUP, KeysUnreachable

T = TypeVar("T")

PATIENCE = 5.0
TABLES = (
    "CREATE TABLE IF NOT EXISTS ads_keys (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS ads_log (number INTEGER PRIMARY KEY AUTOINCREMENT, fence INTEGER UNIQUE, name TEXT)",
    fenced.sql.ddl(),
)
SET = "INSERT INTO ads_keys (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
NOTE = "INSERT INTO ads_log (fence, name) VALUES (?, ?)"
TRIM = "DELETE FROM ads_log WHERE number <= (SELECT max(number) FROM ads_log) - ?"


def beside(url: str) -> Path:
    """The file for the keys of an embedded store: beside `dibs.sqlite` it is `dibs-ads.sqlite`."""
    path = location(url).path if url.lower().startswith("sqlite") else folder_of(url).path
    return path.with_name(f"{path.stem}-ads.sqlite")


class SqliteKeys:
    """Rows of those names. A thread of its own asks for them, so that the loop goes on meanwhile."""

    name, health = "Embedded store", "embedded"

    def __init__(self, path: Path) -> None:
        self._path, self._thread = path, ThreadPoolExecutor(1, "ads-keys")
        self._connection: sqlite3.Connection | None = None

    async def ping(self) -> None:
        await self.get(ADS)

    async def get(self, key: str) -> str | None:
        def look(connection: sqlite3.Connection) -> str | None:
            row = connection.execute("SELECT value FROM ads_keys WHERE key = ?", (key,)).fetchone()
            return None if row is None else str(row[0])

        return await self._asked(look)

    async def write(self, lease: Fenced, value: str, name: str, *, warmed_up: str = "") -> None:
        def step(connection: sqlite3.Connection) -> None:
            with fenced.sql(connection, lease, resource=ADS) as cursor:
                cursor.execute(SET, (ADS, value))
                cursor.execute(NOTE, (lease.fence, name))
                cursor.execute(TRIM, (LOG_LENGTH,))
                if warmed_up:
                    cursor.execute(SET, (WARMUP, warmed_up))

        await self._asked(step)

    async def close(self) -> None:
        if self._connection is not None:
            await self._asked(sqlite3.Connection.close)
        self._thread.shutdown()

    async def _asked(self, question: Callable[[sqlite3.Connection], T]) -> T:
        def ask() -> T:
            return question(self._open())

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, ask)
        except (sqlite3.Error, OSError) as error:
            raise KeysUnreachable(f"{self._path}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=PATIENCE)
            connection.execute("BEGIN IMMEDIATE")  # the other workers make the same tables just now
            for statement in TABLES:
                connection.execute(statement)
            connection.commit()
            self._connection = connection
        return self._connection
