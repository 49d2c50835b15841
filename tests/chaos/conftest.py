"""A store in a file of its own, a stage for programs that use it, and a client that watches them."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from dibs import Dibs
from dibs.testing.contract import Diary
from tests.chaos.stage import Stage
from tests.chaos.users import NOBODY


@pytest.fixture
def stage(file: Path) -> Iterator[Stage]:
    """Cleared before the file is removed."""
    with Stage() as stage:
        yield stage


@pytest.fixture
def file() -> Iterator[Path]:
    """In a folder with a path that is short enough for sockets, which `tmp_path` is not."""
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield Path(folder, "locks.sqlite")
        for line in [thread for thread in threading.enumerate() if thread.name == "dibs-line"]:
            line.join(5)  # a last ask of a closed client may still be on its way


@pytest.fixture
def home() -> Iterator[Path]:
    """The folder of an ordinary user, if we are none."""
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def d(url: str, diary: Diary) -> Iterator[Dibs]:
    with dibs.connect(url, observers=[diary], quiet=True) as client:
        yield client
