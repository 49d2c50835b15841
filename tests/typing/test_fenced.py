"""What a block is given has the type that its connection says."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable
from contextlib import closing
from typing import Any, assert_type

import psycopg
import redis
import redis.asyncio
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import dibs
from dibs import Lease, fenced
from dibs.fenced.keys import AsyncWrites, Writes


def test_a_block_is_given_what_its_connection_makes() -> None:
    with closing(sqlite3.connect(":memory:")) as file, dibs.connect("memory://typed").lock("a") as lease:
        fenced.sql.create(file)
        with fenced.sql(file, lease) as cursor:
            assert_type(cursor, sqlite3.Cursor)
            assert isinstance(cursor, sqlite3.Cursor)


def blocks(
    lease: Lease,
    file: sqlite3.Connection,
    server: psycopg.Connection[tuple[Any, ...]],
    engine: sqlalchemy.Engine,
    connection: sqlalchemy.Connection,
    session: sqlalchemy.orm.Session,
) -> None:
    """Never run: the type checkers read it."""
    with fenced.sql(file, lease, resource="invoices") as cursor:
        assert_type(cursor, sqlite3.Cursor)
    with fenced.sql(server, lease, paramstyle="pyformat") as another:
        assert_type(another, psycopg.Cursor[tuple[Any, ...]])
    with fenced.sql(engine, lease) as made:
        assert_type(made, sqlalchemy.Connection)
    with fenced.sql(connection, lease) as same:
        assert_type(same, sqlalchemy.Connection)
    with fenced.sql(session, lease) as orm:
        assert_type(orm, sqlalchemy.orm.Session)
    for mine in (file, server, connection, session):
        fenced.sql.create(mine)
        fenced.sql.guard(mine, lease)
    fenced.sql.ensure_written(cursor, lease)


async def async_blocks(
    lease: Lease,
    engine: sqlalchemy.ext.asyncio.AsyncEngine,
    connection: sqlalchemy.ext.asyncio.AsyncConnection,
    session: sqlalchemy.ext.asyncio.AsyncSession,
) -> None:
    """Never run, either."""
    async with fenced.sql(engine, lease) as made:
        assert_type(made, sqlalchemy.ext.asyncio.AsyncConnection)
    async with fenced.sql(connection, lease) as same:
        assert_type(same, sqlalchemy.ext.asyncio.AsyncConnection)
    async with fenced.sql(session, lease) as orm:
        assert_type(orm, sqlalchemy.ext.asyncio.AsyncSession)


def keys(lease: Lease, client: redis.Redis, aio: redis.asyncio.Redis) -> Awaitable[bool]:
    """Never run, either."""
    assert_type(fenced.redis(client, lease), Writes)
    assert_type(fenced.redis(aio, lease, keep="7d"), AsyncWrites)
    assert_type(fenced.redis(client, lease).delete("a"), bool)
    return fenced.redis(aio, lease).delete("a")


def misuses(lease: Lease | None, held: Lease, file: sqlite3.Connection, client: redis.Redis) -> None:
    """Never run: each line is refused by the type checkers."""
    fenced.sql(file, lease)  # type: ignore[arg-type]
    fenced.sql(client, held)  # type: ignore[call-overload]
    fenced.redis(client, lease)  # type: ignore[arg-type]
    fenced.redis(file, held)  # type: ignore[call-overload]
    fenced.redis(client, held).set("a", None)  # type: ignore[arg-type]
