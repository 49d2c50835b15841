"""The door to SQL databases: `fenced.sql`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing
from typing import TYPE_CHECKING, Any, Protocol, overload

from dibs.errors import ConfigError, StaleFence
from dibs.fenced import blocks, drivers
from dibs.fenced.alchemy import Alchemy, AlchemyT, AsyncAlchemyT, AsyncEngine, Engine, Transaction
from dibs.fenced.claim import Fenced, claim
from dibs.fenced.drivers import Cursor, CursorT_co, Driver
from dibs.fenced.guard import TABLE, checked_table, ddl, guard, told

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class Counted(Protocol):
    """A cursor, or a result of SQLAlchemy: it knows how many rows were changed."""

    @property
    def rowcount(self) -> int: ...


class Sql:
    """Fenced writes in a SQL database: `with fenced.sql(connection, lease) as cursor`."""

    @overload
    def __call__(
        self, connection: AsyncEngine[AsyncAlchemyT], lease: Fenced, *, resource: str | None = None, table: str = TABLE
    ) -> AbstractAsyncContextManager[AsyncAlchemyT]: ...

    @overload
    def __call__(
        self, connection: AsyncAlchemyT, lease: Fenced, *, resource: str | None = None, table: str = TABLE
    ) -> AbstractAsyncContextManager[AsyncAlchemyT]: ...

    @overload
    def __call__(
        self, connection: Engine[AlchemyT], lease: Fenced, *, resource: str | None = None, table: str = TABLE
    ) -> AbstractContextManager[AlchemyT]: ...

    @overload
    def __call__(
        self, connection: AlchemyT, lease: Fenced, *, resource: str | None = None, table: str = TABLE
    ) -> AbstractContextManager[AlchemyT]: ...

    @overload
    def __call__(
        self,
        connection: drivers.Connection[CursorT_co],
        lease: Fenced,
        *,
        resource: str | None = None,
        table: str = TABLE,
        paramstyle: str | None = None,
    ) -> AbstractContextManager[CursorT_co]: ...

    def __call__(
        self,
        connection: Any,
        lease: Fenced,
        *,
        resource: str | None = None,
        table: str = TABLE,
        paramstyle: str | None = None,
    ) -> Any:
        """A transaction that is guarded first, and committed at its end; an error of any kind takes all of it back.

        The block is given a cursor of a driver's connection, or SQLAlchemy's Connection or Session as it is. If a
        newer holder has written, it is not entered: `StaleFence`. Without a name, the resource is the lock itself.
        """
        wish, table = claim(lease, resource), checked_table(table)
        if _is_driver_s(connection):
            style = drivers.paramstyle(connection, paramstyle)
            return blocks.of_driver(connection, wish, table=table, style=style)
        return _of_alchemy(connection)(connection, wish, table=table)

    def guard(
        self,
        connection: drivers.Connection[Cursor] | Alchemy,
        lease: Fenced,
        *,
        resource: str | None = None,
        table: str = TABLE,
        paramstyle: str | None = None,
    ) -> None:
        """Guard the transaction that is open here, or that this begins. It is yours: commit it, or roll it back.

        `StaleFence` if a newer holder has written: then roll back. It goes before the writes that it is for.
        """
        wish, table = claim(lease, resource), checked_table(table)
        if not _is_driver_s(connection):
            _refuse_all_but_transactions(connection)
            guard(Transaction.of(connection, table=table), wish)
            return
        style = drivers.paramstyle(connection, paramstyle)
        drivers.refuse_autocommit(connection)
        with closing(connection.cursor()) as cursor:
            guard(Driver(cursor, table=table, style=style), wish)

    def create(self, connection: drivers.Connection[Cursor] | Alchemy, *, table: str = TABLE) -> None:
        """Make the guard's table if there is none, in your transaction: you commit it."""
        statement = ddl(table)
        if _is_driver_s(connection):
            with closing(connection.cursor()) as cursor:
                cursor.execute(statement)
            return
        _refuse_all_but_transactions(connection)
        from sqlalchemy import text  # noqa: PLC0415 - whoever is here has it

        connection.execute(text(statement))

    def ddl(self, *, table: str = TABLE) -> str:
        """The statement that makes the guard's table, for your migrations."""
        return ddl(table)

    def ensure_written(self, result: Counted, lease: Fenced, *, resource: str | None = None) -> None:
        """Raise `StaleFence` if an `UPDATE … WHERE … AND fence <= …` of yours has met no row: then roll back."""
        wish = claim(lease, resource)
        if told(result.rowcount) == 0:
            raise StaleFence(wish.resource, fence=wish.fence, newest=None)


def _is_driver_s(connection: object) -> TypeIs[drivers.Connection[Cursor]]:
    return hasattr(connection, "cursor")


def _of_alchemy(connection: Any) -> Any:
    """The block for this kind of object."""
    if hasattr(connection, "sync_engine") and not hasattr(connection, "run_sync"):
        return blocks.of_async_engine
    if hasattr(connection, "run_sync"):
        return blocks.of_async_alchemy
    if hasattr(connection, "raw_connection"):
        return blocks.of_engine
    _refuse_all_but_transactions(connection)
    return blocks.of_alchemy


def _refuse_all_but_transactions(connection: object) -> None:
    if hasattr(connection, "begin_nested") and not hasattr(connection, "run_sync"):
        return
    raise ConfigError(
        f"{type(connection).__name__} is no transaction to guard: pass a connection of a DB-API 2 driver, or a "
        "Connection or Session of SQLAlchemy (inside run_sync, if yours is an async one)"
    )
