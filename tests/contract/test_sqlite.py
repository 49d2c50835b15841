"""The embedded store keeps the contract, and answers as the specification does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dibs.ports.wire import Backend
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.testing.contract import LockContract, store_against_memory


class TestSqlite(LockContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return SqliteBackend(Location(tmp_path / "locks.sqlite"))


def _fresh(clock: Callable[[], float]) -> Backend:
    return SqliteBackend(Location(Path(tempfile.mkdtemp()) / "locks.sqlite"), clock=clock)


TestAgainstMemory = store_against_memory(_fresh)
