"""Clients on a private store, one that can be made silent, and a diary of what they tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from dibs import Dibs
from dibs.ports.wire import Backend
from dibs.stores import open_store
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage
from tests.client.hands import Tasks, Threads, Way
from tests.client.others import Async, Blocking, Colour


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def outage() -> Outage:
    return Outage(MemoryBackend())


@pytest.fixture
def d(outage: Outage, diary: Diary) -> Iterator[Dibs]:
    with Dibs(outage, observers=[diary]) as client:
        yield client
        outage.trouble = "none"  # closing would bear a silence, for every test anew


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return MemoryBackend() if request.param == "memory" else open_store(f"sqlite:///{tmp_path}/dibs.sqlite")


@pytest.fixture
def anywhere(backend: Backend, diary: Diary) -> Iterator[Dibs]:
    """On a store within this process, and on one that others share."""
    with Dibs(backend, observers=[diary]) as client:
        yield client


@pytest.fixture(params=["memory", "sqlite", "valkey"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One of each family; a test says by `server_kind` which server it is."""
    if request.param == "valkey":
        found: str = request.getfixturevalue("server_url")
        return found
    return f"sqlite:///{tmp_path}/dibs.sqlite" if request.param == "sqlite" else f"memory://{tmp_path.name}"


@pytest.fixture
def ann(url: str) -> Iterator[Dibs]:
    with dibs.connect(url, quiet=True) as client:
        yield client


@pytest.fixture
def bob(url: str) -> Iterator[Dibs]:
    with dibs.connect(url, quiet=True) as client:
        yield client


@pytest.fixture(params=[Threads, Tasks])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture(params=[Blocking, Async])
def colour(request: pytest.FixtureRequest) -> Colour:
    found: Colour = request.param
    return found
