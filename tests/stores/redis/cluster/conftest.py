"""Who uses a cluster: clients of either colour."""

from __future__ import annotations

import pytest

from tests.chaos.colours import BOTH
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.stores.redis.cluster.guild import Guild


@pytest.fixture
def server_kind(request: pytest.FixtureRequest) -> Kind:
    """One kind, unless a test asks for another: each cluster is six processes."""
    return there(getattr(request, "param", VALKEY_9))


@pytest.fixture(params=BOTH)
def guild(request: pytest.FixtureRequest) -> Guild:
    return Guild(request.param)
