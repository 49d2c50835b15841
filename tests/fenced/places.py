"""Where people write: the same account, in several databases and by several libraries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy
import sqlalchemy.orm

from dibs import fenced

TABLES = (
    "DROP TABLE IF EXISTS dibs_fence",
    "DROP TABLE IF EXISTS account",
    "CREATE TABLE account (id INTEGER PRIMARY KEY, owner VARCHAR(50), fence BIGINT NOT NULL)",
    "INSERT INTO account (id, owner, fence) VALUES (1, 'nobody', 0)",
)
READ = "SELECT owner FROM account WHERE id = 1"
NEWEST = "SELECT fence FROM dibs_fence WHERE resource = 'account'"
WRITES = {
    "qmark": "UPDATE account SET owner = ? WHERE id = 1",
    "pyformat": "UPDATE account SET owner = %s WHERE id = 1",
    "alchemy": "UPDATE account SET owner = :owner WHERE id = 1",
}


@dataclass(frozen=True)
class Holder:
    """Has a name and a fence, as a lease has."""

    fence: int
    name: str = "account"


class Place:
    """One account in one database; each connection is closed with it."""

    def __init__(self, style: str, connect: Callable[[float], Any]) -> None:
        self._style, self._connect = style, connect
        self._opened = ExitStack()

    def connect(self, patience: float = 0) -> Any:
        """A connection of its own. Whoever writes to a file waits so long for others; a server lets everybody wait."""
        return self._opened.enter_context(closing(self._connect(patience)))

    def write(self, handle: Any, owner: str) -> Any:
        """By what a block is given, or by a connection."""
        if self._style == "alchemy":
            return handle.execute(sqlalchemy.text(WRITES["alchemy"]), {"owner": owner})
        return handle.execute(WRITES[self._style], (owner,))

    def ask(self, question: str) -> Any:
        """The first value of the answer, as everybody sees it."""
        connection = self.connect()
        row = self.say(connection, question).fetchone()
        connection.rollback()
        return row[0] if row else None

    def say(self, connection: Any, words: str) -> Any:
        return connection.execute(sqlalchemy.text(words) if self._style == "alchemy" else words)

    def prepare(self) -> None:
        connection = self.connect()
        for words in TABLES:
            self.say(connection, words)
        fenced.sql.create(connection)
        connection.commit()

    def close(self) -> None:
        self._opened.close()

    @property
    def owner(self) -> Any:
        return self.ask(READ)

    @property
    def newest(self) -> Any:
        return self.ask(NEWEST)


def sqlite(file: Path) -> Place:
    return Place("qmark", lambda patience: sqlite3.connect(file, timeout=patience, check_same_thread=False))


def postgres(dsn: str) -> Place:
    return Place("pyformat", lambda _: psycopg.connect(dsn))


def alchemy(url: str) -> Place:
    return Place("alchemy", lambda patience: _engine(url, patience).connect())


def session(url: str) -> Place:
    return Place("alchemy", lambda patience: sqlalchemy.orm.Session(_engine(url, patience)))


def _engine(url: str, patience: float) -> sqlalchemy.Engine:
    of_file = {"connect_args": {"timeout": patience, "check_same_thread": False}}
    options = of_file if url.startswith("sqlite") else {}
    return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool, **options)
