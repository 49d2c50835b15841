"""Clients on a private memory store, one that can be made silent, and a diary of what they tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs import Dibs
from dibs.stores.memory import MemoryBackend
from dibs.testing.contract import Diary
from dibs.testing.outage import Outage


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def outage() -> Outage:
    return Outage(MemoryBackend())


@pytest.fixture
def d(outage: Outage, diary: Diary) -> Iterator[Dibs]:
    with Dibs(outage, observers=[diary]) as client:
        yield client
