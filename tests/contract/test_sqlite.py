"""The embedded store keeps the contract, and answers as the specification does."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from dibs.ports.wire import Backend
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.testing.contract import LockContract, SheetContract, sheets_against_memory, store_against_memory


class TestSqlite(LockContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return SqliteBackend(Location(tmp_path / "locks.sqlite"))


class TestSheetsInSqlite(SheetContract):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return SqliteBackend(Location(tmp_path / "locks.sqlite"))


FOLDER = Path(tempfile.mkdtemp(prefix="dibs-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
numbers = count()


def _fresh(clock: Callable[[], float]) -> Backend:
    return SqliteBackend(Location(FOLDER / f"{next(numbers)}.sqlite"), clock=clock)


TestAgainstMemory = store_against_memory(_fresh)
TestAgainstMemoryByTasks = store_against_memory(_fresh, colour="asyncio")
TestSheetsAgainstMemory = sheets_against_memory(_fresh, examples=40)
TestSheetsAgainstMemoryByTasks = sheets_against_memory(_fresh, colour="asyncio", examples=40)
