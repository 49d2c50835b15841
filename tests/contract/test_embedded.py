"""The embedded Valkey keeps the contract, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.ports.wire import Backend
from dibs.stores.embedded import open_store
from dibs.testing.contract import LockContract
from tests.servers.kinds import VALKEY_9


@pytest.mark.skipif(VALKEY_9.program() is None, reason=VALKEY_9.missing)
class TestEmbedded(LockContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return open_store(f"valkey+embedded:///{tmp_path / 'valkey'}")
