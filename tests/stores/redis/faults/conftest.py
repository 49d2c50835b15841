"""Who meets the faults: clients of either colour."""

from __future__ import annotations

import pytest

from tests.chaos.colours import BOTH
from tests.stores.redis.faults.party import Party


@pytest.fixture(params=BOTH)
def party(request: pytest.FixtureRequest) -> Party:
    return Party(request.param)
