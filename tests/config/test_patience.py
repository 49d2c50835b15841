"""How long a silent store is borne is a setting, too."""

from __future__ import annotations

import asyncio

import pytest

from dibs import Dibs, StoreUnreachable
from dibs.config import Config
from dibs.runtime.clock import boottime
from dibs.stores.memory import MemoryBackend
from dibs.testing.outage import Outage


@pytest.mark.parametrize("patience", [0.3, 2.4])
def test_a_silent_store_is_borne_for_as_long_as_was_said(patience: float) -> None:
    outage = Outage(MemoryBackend())
    with Dibs(outage, config=Config(patience=patience)) as d:
        outage.trouble = "asks lost"
        began = boottime()
        with pytest.raises(StoreUnreachable):
            d.lock("a").acquire()
        assert patience - 0.01 <= boottime() - began <= patience + 0.5
        began = boottime()
        with pytest.raises(StoreUnreachable):
            d.inspect("a")
        assert patience - 0.01 <= boottime() - began <= patience + 0.5
        outage.trouble = "none"


def test_a_silent_store_is_borne_for_as_long_by_tasks() -> None:
    async def main() -> None:
        outage = Outage(MemoryBackend())
        async with Dibs(outage, config=Config(patience=0.3)) as d:
            outage.trouble = "asks lost"
            began = boottime()
            with pytest.raises(StoreUnreachable):
                await d.lock("a").aacquire()
            assert 0.29 <= boottime() - began <= 0.8
            outage.trouble = "none"

    asyncio.run(main())
