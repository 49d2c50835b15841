"""How many tests run beside one another."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means here: twice as many as there are cores, since most tests wait more than they work."""
    return 2 * (os.cpu_count() or 1)
