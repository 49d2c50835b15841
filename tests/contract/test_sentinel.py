"""A master found by its sentinels keeps the contract, too."""

from __future__ import annotations

import pytest

from dibs.ports.wire import Backend
from dibs.stores import open_store
from dibs.testing.contract import LockContract, SheetContract
from tests.servers.sentinels import House


@pytest.fixture
def backend(shared_house: House) -> Backend:
    shared_house.flush()
    return open_store(shared_house.url)


class Seconded:
    """With grants that its replicas have as well, which takes longer."""

    brief = 0.8

    @pytest.fixture
    def backend(self, shared_house: House) -> Backend:
        shared_house.flush()
        shared_house.copied()
        return open_store(f"{shared_house.url}?min_replicas=2")


@pytest.mark.thorough
class TestSentinelWithItsReplicas(Seconded, LockContract):
    """The whole of it."""


@pytest.mark.thorough
class TestSheetsOfSentinelWithItsReplicas(Seconded, SheetContract):
    """And of jobs."""


@pytest.mark.thorough
class TestSentinel(LockContract):
    """The whole of it."""


@pytest.mark.thorough
class TestSheetsOfSentinel(SheetContract):
    """And of jobs."""
