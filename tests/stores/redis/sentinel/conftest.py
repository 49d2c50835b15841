"""Who lives through a failover: clients of either colour."""

from __future__ import annotations

import pytest

from tests.chaos.colours import BOTH
from tests.servers.fixtures import there
from tests.servers.kinds import VALKEY_9, Kind
from tests.stores.redis.sentinel.household import Household


@pytest.fixture
def server_kind(request: pytest.FixtureRequest) -> Kind:
    """One kind, unless a test asks for another: each house is six processes."""
    return there(getattr(request, "param", VALKEY_9))


@pytest.fixture(params=BOTH)
def household(request: pytest.FixtureRequest) -> Household:
    return Household(request.param)
