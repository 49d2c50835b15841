"""The memory store keeps the contract it is the specification of."""

from __future__ import annotations

import pytest

from dibs.ports.wire import Backend
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import LockContract, SheetContract, sheets_against_memory, store_against_memory


class TestMemory(LockContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return MemoryBackend()


class TestSheetsInMemory(SheetContract):
    @pytest.fixture
    def backend(self) -> Backend:
        return MemoryBackend()


TestAgainstMemory = store_against_memory(lambda clock: MemoryBackend(clock=clock))
TestAgainstMemoryByTasks = pytest.mark.thorough(
    store_against_memory(lambda clock: MemoryBackend(clock=clock), colour="asyncio")
)
TestSheetsAgainstMemory = sheets_against_memory(lambda clock: MemoryBackend(clock=clock))
TestSheetsAgainstMemoryByTasks = pytest.mark.thorough(
    sheets_against_memory(lambda clock: MemoryBackend(clock=clock), colour="asyncio")
)
