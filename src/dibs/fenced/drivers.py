"""How Python's database drivers (DB-API 2) are spoken to, each with its own marks for values."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from dibs.errors import ConfigError
from dibs.fenced.claim import Claim
from dibs.fenced.guard import SAVEPOINT

MARKS = {"qmark": "?", "format": "%s", "numeric": ":{number}", "named": ":{name}", "pyformat": "%({name})s"}
BY_NAME = ("named", "pyformat")


class Cursor(Protocol):
    """What the guard needs of a cursor; yours can do more."""

    @property
    def rowcount(self) -> int: ...

    # Each driver calls and types these two in its own way.
    @property
    def execute(self) -> Any: ...

    @property
    def fetchone(self) -> Any: ...

    def close(self) -> None: ...


CursorT_co = TypeVar("CursorT_co", bound=Cursor, covariant=True)


class Connection(Protocol[CursorT_co]):
    """A connection of a driver: sqlite3, psycopg, PyMySQL and their like."""

    def cursor(self) -> CursorT_co: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class Driver:
    """The open transaction of a driver's connection."""

    def __init__(self, cursor: Cursor, *, table: str, style: str) -> None:
        self._cursor, self._table, self._style = cursor, table, style

    def change(self, statement: str, claim: Claim) -> int:
        self._execute(statement, claim)
        return self._cursor.rowcount

    def attempt(self, statement: str, claim: Claim) -> Exception | None:
        # Without a savepoint, PostgreSQL would refuse all that comes after the error.
        self._cursor.execute(f"SAVEPOINT {SAVEPOINT}")
        refused = None
        try:
            self._execute(statement, claim)
        except Exception as error:
            if not is_taken(error):
                raise
            refused = error
            self._cursor.execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
        self._cursor.execute(f"RELEASE SAVEPOINT {SAVEPOINT}")
        return refused

    def look(self, statement: str, claim: Claim) -> int | None:
        self._execute(statement, claim)
        return number_in(self._cursor.fetchone())

    def _execute(self, statement: str, claim: Claim) -> None:
        self._cursor.execute(*worded(statement, claim, table=self._table, style=self._style))


def is_taken(error: Exception) -> bool:
    """Whether there is such a row already, by the name that all drivers have for it."""
    return any(kind.__name__ == "IntegrityError" for kind in type(error).__mro__)


def number_in(row: Any) -> int | None:
    """The only number of a row, whether its columns have places or names."""
    if row is None:
        return None
    columns = cast("Mapping[str, Any]", row).values() if isinstance(row, Mapping) else row
    return int(next(iter(columns)))


class _Marks(dict[str, str]):
    """Puts a mark where a value goes, and remembers which."""

    def __init__(self, table: str, mark: str) -> None:
        super().__init__(table=table)
        self._mark, self.names = mark, list[str]()

    def __missing__(self, name: str) -> str:
        self.names.append(name)
        return self._mark.format(name=name, number=len(self.names))


def worded(statement: str, claim: Claim, *, table: str, style: str) -> tuple[str, Sequence[object] | dict[str, object]]:
    """The statement as a driver of that paramstyle wants it, and the values that go with it."""
    marks = _Marks(table, MARKS[style])
    text, values = statement.format_map(marks), {"resource": claim.resource, "fence": claim.fence}
    if style in BY_NAME:
        return text, {name: values[name] for name in marks.names}
    return text, tuple(values[name] for name in marks.names)


def paramstyle(connection: object, said: str | None = None) -> str:
    """How this connection wants values to be marked: as was said, or as the module that it is from says."""
    style = said if said is not None else _style_of(type(connection))
    if style is None:
        raise ConfigError(
            f"{type(connection).__name__} is not from a module with a paramstyle, as DB-API 2 has it: pass the "
            f"connection itself, not what is around it, or say paramstyle= ({', '.join(MARKS)})"
        )
    if style not in MARKS:
        raise ConfigError(f"paramstyle={style!r}: there are {', '.join(MARKS)}")
    return style


def _style_of(kind: type) -> str | None:
    for parent in kind.__mro__:
        parts = parent.__module__.split(".")
        for size in range(len(parts), 0, -1):
            module = sys.modules.get(".".join(parts[:size]))
            if hasattr(module, "apilevel") and isinstance(style := getattr(module, "paramstyle", None), str):
                return style
    return None


def refuse_autocommit(connection: Any) -> None:
    """A guard in a transaction of its own would be over before the write that it is for."""
    if not _commits_by_itself(connection):
        return
    raise ConfigError(
        f"{type(connection).__name__} commits each statement by itself, so a guard would hold nothing: "
        "turn autocommit off, or begin a transaction first"
    )


def _commits_by_itself(connection: Any) -> bool:
    is_inside = getattr(connection, "in_transaction", None)  # only sqlite3 has it
    status = getattr(getattr(connection, "info", None), "transaction_status", 0)  # only psycopg; 0 is idle
    if is_inside is True or status:
        return False
    if callable(ask := getattr(connection, "get_autocommit", None)):  # as MySQL's drivers have it
        return bool(ask())
    if is_inside is not None and getattr(connection, "isolation_level", "") is None:
        return getattr(connection, "autocommit", True) is not False
    return getattr(connection, "autocommit", False) is True
