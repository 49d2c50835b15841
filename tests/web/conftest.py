"""A client on a store of each family, and somebody who asks for its locks by HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from dibs import Dibs
from dibs.testing.contract import Diary
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.web.asking import Caller, calling


@pytest.fixture
def server_kind() -> Kind:
    """One is enough: how a lock is looked at and taken away, the contract says of all."""
    return there(VALKEY_9)


@pytest.fixture
def place() -> str:
    return "memory"


@pytest.fixture
def url(request: pytest.FixtureRequest, place: str, tmp_path: Path) -> str:
    if place == "valkey":
        found: str = request.getfixturevalue("server_url")
        return found
    return f"sqlite:///{tmp_path}/dibs.sqlite" if place == "sqlite" else f"memory://{tmp_path.name}"


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def d(url: str, diary: Diary) -> Iterator[Dibs]:
    with dibs.connect(url, namespace="workflow", observers=[diary], quiet=True) as client:
        yield client


@pytest.fixture
def caller(d: Dibs) -> Caller:
    return calling(d)
