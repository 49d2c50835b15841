"""Transactions as blocks: the guard first, then what you write, and all of it or nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

from dibs.fenced import drivers
from dibs.fenced.alchemy import AlchemyT, AsyncAlchemyT, Transaction
from dibs.fenced.claim import Claim
from dibs.fenced.drivers import CursorT_co, Driver
from dibs.fenced.guard import guard


class _Ends(Protocol):
    def commit(self) -> None: ...

    def rollback(self) -> None: ...


@contextmanager
def of_driver(
    connection: drivers.Connection[CursorT_co], claim: Claim, *, table: str, style: str
) -> Generator[CursorT_co, None, None]:
    """A driver's connection, with a cursor to write by."""
    drivers.refuse_autocommit(connection)
    cursor = connection.cursor()
    try:
        with _settled(connection):
            guard(Driver(cursor, table=table, style=style), claim)
            yield cursor
    finally:
        with suppress(Exception):  # what has happened before matters more
            cursor.close()


@contextmanager
def of_alchemy(connection: AlchemyT, claim: Claim, *, table: str) -> Generator[AlchemyT, None, None]:
    """A Connection or a Session of SQLAlchemy."""
    with _settled(connection):
        guard(Transaction.of(connection, table=table), claim)
        yield connection


@contextmanager
def of_engine(engine: Any, claim: Claim, *, table: str) -> Generator[Any, None, None]:
    """An Engine of SQLAlchemy, with a connection that is given back at the end."""
    with engine.connect() as connection, of_alchemy(connection, claim, table=table):
        yield connection


@asynccontextmanager
async def of_async_alchemy(
    connection: AsyncAlchemyT, claim: Claim, *, table: str
) -> AsyncGenerator[AsyncAlchemyT, None]:
    """An AsyncConnection or an AsyncSession of SQLAlchemy."""

    def begin(sync: Any) -> None:
        guard(Transaction.of(sync, table=table), claim)

    try:
        await connection.run_sync(begin)
        yield connection
        await connection.commit()
    except BaseException as error:
        try:
            await connection.rollback()
        except Exception as trouble:  # noqa: BLE001 - whatever it is, what has happened before matters more
            _note(error, trouble)
        raise


@asynccontextmanager
async def of_async_engine(engine: Any, claim: Claim, *, table: str) -> AsyncGenerator[Any, None]:
    """An AsyncEngine of SQLAlchemy, with a connection that is given back at the end."""
    async with engine.connect() as connection, of_async_alchemy(connection, claim, table=table):
        yield connection


@contextmanager
def _settled(connection: _Ends) -> Generator[None, None, None]:
    """Commit what is done inside, or take all of it back: the error that ended it wins over one on the way back."""
    try:
        yield
        connection.commit()
    except BaseException as error:
        try:
            connection.rollback()
        except Exception as trouble:  # noqa: BLE001 - whatever it is, what has happened before matters more
            _note(error, trouble)
        raise


def _note(error: BaseException, trouble: Exception) -> None:
    error.add_note(f"And rolling back: {trouble}")
