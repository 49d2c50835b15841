"""The conformance suite: one set of tests for any store and both colours.

A store's own test file is a few lines:

    class TestMemory(LockContract):
        @pytest.fixture
        def backend(self) -> Backend:
            return MemoryBackend()

    TestAgainstMemory = store_against_memory(lambda clock: MemoryBackend(clock=clock))
"""

from dibs.testing.contract.against_memory import store_against_memory
from dibs.testing.contract.faces import AsyncFace, BlockingFace, Diary, Face
from dibs.testing.contract.locks import LockContract, QuorumContract
from dibs.testing.contract.sheets import SheetContract
from dibs.testing.contract.sheets_against_memory import sheets_against_memory

__all__ = [
    "AsyncFace",
    "BlockingFace",
    "Diary",
    "Face",
    "LockContract",
    "QuorumContract",
    "SheetContract",
    "sheets_against_memory",
    "store_against_memory",
]
