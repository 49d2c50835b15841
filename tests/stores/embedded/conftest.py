"""A folder for a server, which must be empty of life in the end, and a stage for programs that use it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dibs.stores.embedded.binary import valkey_binary
from tests.chaos.stage import Stage
from tests.stores.embedded.household import Household, SlowServer

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]  # they look into /proc


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a path that is short enough for a socket, which `tmp_path` is not."""
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield Path(folder, "valkey")


@pytest.fixture
def house(folder: Path) -> Iterator[Household]:
    """Whatever a test does, nobody may be left when its programs are gone."""
    house = Household(folder)
    yield house
    house.ends()


@pytest.fixture
def stage(house: Household) -> Iterator[Stage]:
    """Cleared before we look who is left."""
    with Stage() as stage:
        yield stage


@pytest.fixture
def slow(folder: Path) -> SlowServer:
    started, go = folder.with_name("started"), folder.with_name("go")
    os.mkfifo(started)
    os.mkfifo(go)
    program = folder.with_name("slow-server")
    program.write_text(f'#!/bin/sh\necho started > {started}\nread word < {go}\nexec {valkey_binary()} "$@"\n')
    program.chmod(0o700)
    return SlowServer(program, started, go)
