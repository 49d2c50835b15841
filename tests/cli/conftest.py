"""What the tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short name: the path of a socket may not be long."""
    with TemporaryDirectory() as name:
        yield Path(name)
