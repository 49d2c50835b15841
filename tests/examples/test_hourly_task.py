"""The example of source 002 tells the truth: it is run as a reader would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dibs.config.settings import ALL
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST
from tests.servers.server import Server

EXAMPLE = Path(__file__).parents[2] / "examples" / "hourly_task.py"

ACQUIRED = "[DistributedLock] Lock acquired: hourly-task (attempt 1) for __main__.TasksService.handle_hourly_task"
SKIPPED = r"\[DistributedLock\] Skipping execution - lock held by another instance: hourly-task \([^()]+:\d+\) for .*"


def story(folder: Path, **environment: str) -> list[str]:
    """What it prints, where nothing but this is said to it."""
    said = {variable for setting in ALL for variable in setting.variables}
    nothing = {name: value for name, value in os.environ.items() if name not in said}
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**nothing, "XDG_STATE_HOME": str(folder / "state"), **environment},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def one_did_it(lines: list[str]) -> bool:
    """Whether one has got the lock and the work, and the others have said that they skip it."""
    told = dict(line.removeprefix("Worker Instance ").split(": ", 1) for line in lines[:3])
    winners = [instance for instance, line in told.items() if line == ACQUIRED]
    skipped = [instance for instance, line in told.items() if re.fullmatch(SKIPPED, line)]
    assert sorted(winners + skipped) == ["1", "2", "3"]
    assert [f"Worker Instance {winner}: 42 records processed" in lines for winner in winners] == [True]
    assert lines.count("Processing hourly task...") == 1
    return lines[-1] == "The task was done by 1 of 3 instances"


def test_one_of_three_workers_does_the_hourly_task_without_any_server(tmp_path: Path) -> None:
    assert one_did_it(story(tmp_path))
    assert list((tmp_path / "state").rglob("dibs.sqlite")), "they share the store of this machine"


@on_valkey_9
def test_one_of_three_workers_does_the_hourly_task_on_a_server(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server("appendonly yes")  # one of which there is nothing else to say
    pytest.importorskip("redis", reason="no redis-py on this machine")
    assert one_did_it(story(tmp_path, REDIS_ENABLED="true", REDIS_HOST=HOST, REDIS_PORT=str(server.port)))
    assert not (tmp_path / "state").exists()
