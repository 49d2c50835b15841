"""How SQLAlchemy is spoken to. It is never imported before somebody brings an object of it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from dibs.fenced.claim import Claim
from dibs.fenced.drivers import is_taken, number_in, refuse_autocommit

NAMES = {"fence": ":fence", "resource": ":resource"}


class Alchemy(Protocol):
    """A Connection or a Session of SQLAlchemy."""

    # Typed in many ways, of which none matters here.
    @property
    def execute(self) -> Any: ...

    @property
    def begin_nested(self) -> Any: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class AsyncAlchemy(Protocol):
    """An AsyncConnection or an AsyncSession of SQLAlchemy."""

    @property
    def run_sync(self) -> Any: ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


AlchemyT = TypeVar("AlchemyT", bound=Alchemy)
AsyncAlchemyT = TypeVar("AsyncAlchemyT", bound=AsyncAlchemy)
MadeT_co = TypeVar("MadeT_co", covariant=True)


class Engine(Protocol[MadeT_co]):
    """What makes Connections."""

    def connect(self) -> MadeT_co: ...

    def raw_connection(self) -> Any: ...


class AsyncEngine(Protocol[MadeT_co]):
    """What makes AsyncConnections."""

    sync_engine: Any

    def connect(self) -> MadeT_co: ...


class Transaction:
    """The open transaction of a Connection, which is begun if there is none."""

    def __init__(self, connection: Any, *, table: str) -> None:
        self._connection, self._table = connection, table

    @classmethod
    def of(cls, connection: Any, *, table: str) -> Transaction:
        """That of a Connection, or the one that a Session has with the database."""
        if hasattr(connection, "get_bind"):  # a Session: nothing that is pending in it is flushed by us
            connection = connection.connection()
        if not connection.in_transaction():
            connection.begin()
        refuse_autocommit(connection.connection.driver_connection)
        return cls(connection, table=table)

    def change(self, statement: str, claim: Claim) -> int:
        return int(self._execute(statement, claim).rowcount)

    def attempt(self, statement: str, claim: Claim) -> Exception | None:
        nested = self._connection.begin_nested()
        try:
            self._execute(statement, claim)
        except Exception as error:
            if not is_taken(error):
                raise
            nested.rollback()
            return error
        nested.commit()
        return None

    def look(self, statement: str, claim: Claim) -> int | None:
        return number_in(self._execute(statement, claim).first())

    def _execute(self, statement: str, claim: Claim) -> Any:
        from sqlalchemy import text  # noqa: PLC0415 - whoever is here has it

        worded = text(statement.format(table=self._table, **NAMES))
        names = [name for name in NAMES if f"{{{name}}}" in statement]
        return self._connection.execute(worded, {name: getattr(claim, name) for name in names})
