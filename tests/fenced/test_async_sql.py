"""SQLAlchemy's asyncio side is guarded by the same statements."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine

from dibs import ConfigError, StaleFence, fenced
from tests.fenced.places import NEWEST, READ, TABLES, WRITES, Holder

WRITE = sqlalchemy.text(WRITES["alchemy"])


@pytest.fixture(params=["aiosqlite", "psycopg"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "psycopg":
        return str(request.getfixturevalue("postgres").url)
    return f"sqlite+aiosqlite:///{tmp_path / 'account.sqlite'}"


@pytest.fixture(params=["connection", "session"])
def opened(request: pytest.FixtureRequest) -> Callable[[AsyncEngine], Any]:
    return AsyncConnection if request.param == "connection" else AsyncSession


def play(url: str, scene: Callable[[AsyncEngine], Awaitable[None]]) -> None:
    async def main() -> None:
        engine = create_async_engine(url, poolclass=sqlalchemy.NullPool)
        async with engine.begin() as connection:
            for words in TABLES:
                await connection.execute(sqlalchemy.text(words))
            await connection.run_sync(fenced.sql.create)
        await scene(engine)
        await engine.dispose()

    asyncio.run(main())


async def seen(engine: AsyncEngine) -> tuple[Any, Any]:
    """The account's owner and its fence."""
    async with engine.connect() as connection:
        return (
            (await connection.execute(sqlalchemy.text(READ))).scalar(),
            (await connection.execute(sqlalchemy.text(NEWEST))).scalar(),
        )


def test_a_late_holder_is_refused(url: str, opened: Callable[[AsyncEngine], Any]) -> None:
    async def scene(engine: AsyncEngine) -> None:
        async with opened(engine) as mine, fenced.sql(mine, Holder(7)) as handle:
            await handle.execute(WRITE, {"owner": "newer"})
        async with opened(engine) as late:
            with pytest.raises(StaleFence, match="7 has written since"):
                async with fenced.sql(late, Holder(6)):
                    pytest.fail("the block was entered")
        assert await seen(engine) == ("newer", 7)

    play(url, scene)


def test_an_error_takes_back_the_write_and_the_fence(url: str, opened: Callable[[AsyncEngine], Any]) -> None:
    async def scene(engine: AsyncEngine) -> None:
        async with opened(engine) as mine:
            with pytest.raises(ZeroDivisionError):
                async with fenced.sql(mine, Holder(7)) as handle:
                    await handle.execute(WRITE, {"owner": "half done"})
                    raise ZeroDivisionError
            assert not mine.in_transaction()
            with pytest.raises(StaleFence):
                async with fenced.sql(mine, Holder(8)), fenced.sql(mine, Holder(7)):
                    pytest.fail("the block was entered")
            assert not mine.in_transaction()
        assert await seen(engine) == ("nobody", None)

    play(url, scene)


def test_an_engine_lends_a_connection(url: str) -> None:
    async def scene(engine: AsyncEngine) -> None:
        async with fenced.sql(engine, Holder(7)) as connection:
            await connection.execute(WRITE, {"owner": "mine"})
        assert connection.closed
        assert await seen(engine) == ("mine", 7)

    play(url, scene)


def test_a_transaction_of_ones_own_is_guarded_inside_run_sync(url: str, opened: Callable[[AsyncEngine], Any]) -> None:
    async def scene(engine: AsyncEngine) -> None:
        async with opened(engine) as mine:
            with pytest.raises(ConfigError, match="inside run_sync"):
                fenced.sql.guard(mine, Holder(7))
            await mine.run_sync(fenced.sql.guard, Holder(7))
            await mine.execute(WRITE, {"owner": "mine"})
            await mine.commit()
        assert await seen(engine) == ("mine", 7)

    play(url, scene)


def test_an_engine_for_threads_lends_a_connection_too(tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'account.sqlite'}", poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        fenced.sql.create(connection)
    with fenced.sql(engine, Holder(7)) as connection:
        assert connection.in_transaction()
    assert connection.closed
    with pytest.raises(StaleFence), fenced.sql(engine, Holder(6)):
        pytest.fail("the block was entered")
    with pytest.raises(ConfigError, match="Engine is no transaction to guard"):
        fenced.sql.guard(engine, Holder(7))  # type: ignore[arg-type]
