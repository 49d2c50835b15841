"""Clients that keep a lock under its bare name, as other programs do, and servers that are not for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
import redis

from dibs.stores.redis import open_store
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Face
from tests.servers.certificate import Certificate
from tests.servers.fixtures import there
from tests.servers.kinds import REDIS, VALKEY_9, Kind
from tests.servers.ports import HOST
from tests.servers.server import Server
from tests.stores.redis.asker import Asker
from tests.stores.redis.npm import Node, Redlock, missing
from tests.stores.redis.rivals import Rival
from tests.stores.redis.turns import SECRET, USERS


@pytest.fixture(params=[BlockingFace, AsyncFace], ids=["blocking", "asyncio"])
def faces(request: pytest.FixtureRequest, server_url: str) -> Callable[[], Face]:
    return lambda: cast("Face", request.param(open_store(server_url), namespace=""))


@pytest.fixture
def face(faces: Callable[[], Face]) -> Face:
    return faces()


@pytest.fixture(params=["blocking", "asyncio"])
def asker(request: pytest.FixtureRequest, server: Server) -> Iterator[Asker]:
    """Who asks the store itself."""
    made = Asker(server.url, request.param)
    yield made
    made.close()


@pytest.fixture
def eyes(server: Server) -> Iterator[redis.Redis]:
    """To see, and to do, what no program should."""
    with redis.Redis(host=HOST, port=server.port) as client:
        yield client


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Node]:
    mine = tmp_path_factory.getbasetemp()
    folder: Path = (mine if worker_id == "master" else mine.parent) / "npm"
    if why := missing(folder):
        pytest.skip(why)
    program = Node(folder)
    yield program
    program.close()


@pytest.fixture
def rivals(request: pytest.FixtureRequest, server: Server) -> Iterator[Callable[[str], Rival]]:
    """Makes a program of one kind that locks a key."""
    made: list[Rival] = []

    def make(key: str) -> Rival:
        known = (request.getfixturevalue("node"),) if request.param is Redlock else ()
        made.append(request.param(*known, server.port, key))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def guarded_server() -> Iterator[Server]:
    with Server(there(VALKEY_9), password=SECRET, users=USERS) as server:
        yield server


@pytest.fixture
def guarded(guarded_server: Server) -> Server:
    """Lets nobody in without a password."""
    guarded_server.flush()
    return guarded_server


@pytest.fixture(scope="session")
def encrypting() -> Kind:
    """A kind that speaks TLS: the wheels of Valkey are built without."""
    if not there(REDIS).speaks_tls():
        pytest.skip("no TLS in the redis-server on this machine")
    return REDIS


@pytest.fixture(scope="session")
def encrypted_server(encrypting: Kind, certificate: Certificate) -> Iterator[Server]:
    with Server(encrypting, certificate=certificate) as server:
        yield server


@pytest.fixture
def encrypted(encrypted_server: Server) -> Server:
    """Speaks TLS."""
    encrypted_server.flush()
    return encrypted_server
