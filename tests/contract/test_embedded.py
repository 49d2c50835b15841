"""The embedded Valkey keeps the contract, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from dibs.ports.wire import Backend
from dibs.stores.embedded import Folder, ServerLease, lease_server, open_store
from dibs.testing.contract import LockContract
from tests.servers.kinds import VALKEY_9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("embedded") / "valkey")


@pytest.fixture(scope="module")
def share(folder: Folder) -> Iterator[ServerLease]:
    """Ours, which keeps the server from one test to the next."""
    share = lease_server(folder)
    yield share
    share.close()


@pytest.mark.skipif(VALKEY_9.program() is None, reason=VALKEY_9.missing)
class TestEmbedded(LockContract):
    @pytest.fixture
    def backend(self, folder: Folder, share: ServerLease) -> Backend:
        with redis.Redis(unix_socket_path=str(share.socket_path)) as client:
            client.flushall()
        return open_store(folder.url)
