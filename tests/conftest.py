"""How many tests run beside one another, and which of them are measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

MEASURED = [Path(__file__).parent / room for room in ("model", "flows", "client")]
"""Where what decides is covered to the last branch."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means here: twice as many as there are cores, since most tests wait more than they work."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """All others run at full speed: being measured takes longer than all that some of them do."""
    for item in items:
        if not any(room in item.path.parents for room in MEASURED):
            item.add_marker("no_cover")
