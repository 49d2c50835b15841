"""The databases to write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fenced import places
from tests.fenced.places import Place
from tests.fenced.postgres import MISSING, Postgres, is_there

KINDS = ("sqlite3", "psycopg", "alchemy-sqlite", "alchemy-postgres", "session-sqlite", "session-postgres")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if not is_there():
        pytest.skip(MISSING)
    with Postgres() as server:
        yield server


@pytest.fixture
def open_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    opened: list[Place] = []

    def open_one(kind: str) -> Place:
        library, _, database = kind.partition("-")
        opened.append(_place(request, library, database, tmp_path / "account.sqlite"))
        opened[-1].prepare()
        return opened[-1]

    yield open_one
    for place in opened:
        place.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, open_place: Callable[[str], Place]) -> Place:
    return open_place(request.param)


def _place(request: pytest.FixtureRequest, library: str, database: str, file: Path) -> Place:
    if library == "sqlite3":
        return places.sqlite(file)
    if library == "psycopg":
        return places.postgres(request.getfixturevalue("postgres").dsn)
    url = f"sqlite:///{file}" if database == "sqlite" else request.getfixturevalue("postgres").url
    return places.alchemy(url) if library == "alchemy" else places.session(url)
