"""A cluster keeps the contract, too."""

from __future__ import annotations

import pytest

from dibs.ports.wire import Backend
from dibs.stores import open_store
from dibs.testing.contract import LockContract, SheetContract
from tests.servers.cluster import Cluster


@pytest.fixture
def backend(shared_cluster: Cluster) -> Backend:
    shared_cluster.flush()
    return open_store(shared_cluster.url)


@pytest.mark.thorough
class TestCluster(LockContract):
    """The whole of it."""


@pytest.mark.thorough
class TestSheetsOfCluster(SheetContract):
    """And of jobs."""
