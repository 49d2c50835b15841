"""Several servers, of which a majority decides, keep the contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from dibs.ports.wire import Backend
from dibs.stores.quorum import open_store
from dibs.testing.contract import QuorumContract
from tests.servers.fixtures import FIRST, there
from tests.servers.server import Server


@pytest.fixture(scope="module")
def five_servers() -> Iterator[Sequence[Server]]:
    with ExitStack() as servers:
        yield [servers.enter_context(Server(there(FIRST))) for _ in range(5)]


def _quorum(servers: Sequence[Server]) -> Backend:
    for server in servers:
        server.flush()
    return open_store("redlock://" + ",".join(f"127.0.0.1:{server.port}" for server in servers))


class TestQuorumOfThree(QuorumContract):
    @pytest.fixture
    def backend(self, five_servers: Sequence[Server]) -> Backend:
        return _quorum(five_servers[:3])


@pytest.mark.thorough
class TestQuorumOfFive(QuorumContract):
    @pytest.fixture
    def backend(self, five_servers: Sequence[Server]) -> Backend:
        return _quorum(five_servers)
