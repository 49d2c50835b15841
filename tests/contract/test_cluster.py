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


class Seconded:
    """With grants that the replica of each master has as well, which takes longer."""

    brief = 0.8

    @pytest.fixture
    def backend(self, shared_cluster: Cluster) -> Backend:
        shared_cluster.flush()
        shared_cluster.copied()
        return open_store(f"{shared_cluster.url}?min_replicas=1")


@pytest.mark.thorough
class TestClusterWithItsReplicas(Seconded, LockContract):
    """The whole of it."""


@pytest.mark.thorough
class TestSheetsOfClusterWithItsReplicas(Seconded, SheetContract):
    """And of jobs."""


@pytest.mark.thorough
class TestCluster(LockContract):
    """The whole of it."""


@pytest.mark.thorough
class TestSheetsOfCluster(SheetContract):
    """And of jobs."""
