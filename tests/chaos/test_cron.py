"""Every tick once: by real nodes with wrong clocks, that are killed, stopped and started again all the time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import randrange
from time import time

import pytest

import dibs
from dibs import Dibs
from dibs.questions.history import RunView
from tests.chaos.fleet import Fleet, history, pid_of, running, until
from tests.chaos.havoc import Havoc
from tests.chaos.stage import Stage
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.servers.skew import NO_SHIM, environment

SECONDS = float(os.environ.get("CRON_SECONDS", "5"))
"""How long the havoc lasts."""
LONG_ENOUGH = 30.0
SEED = int(os.environ.get("CRON_SEED", randrange(10**6)))
NODES = 2 + SEED % (7 if SECONDS >= LONG_ENOUGH else 3)
TTL = 2.0
AFTERWARDS = TTL + 0.5
"""By then others have found what the last who was harmed had in its hands."""
SKEW = 10
TERMS = {"every": "1s", "ttl": TTL, "overlap": "allow", "catch_up": "all"}
QUICK = {**TERMS, "name": "quick", "lasts": 0.001}
SLOW = {**TERMS, "name": "slow", "lasts": 0.4}
AGAIN = {**TERMS, "name": "again", "lasts": 0.4, "max_attempts": 3}
JOBS = {str(job["name"]): job for job in (QUICK, SLOW, AGAIN)}


@pytest.mark.thorough
@pytest.mark.skipif(bool(NO_SHIM), reason=NO_SHIM)
@on_valkey_9
def test_on_a_server_whatever_their_clocks_say(stage: Stage, server: Server, shim: Path, tmp_path: Path) -> None:
    fleet = Fleet(stage, server.url, tmp_path / "notes", *JOBS.values())
    skews = [(-SKEW, SKEW, 0)[number % 3] for number in range(NODES)]
    every_tick_once(fleet, server.url, [with_clock(shim, tmp_path / f"skew {skew}", skew) for skew in skews])


def with_clock(shim: Path, file: Path, skew: int) -> Mapping[str, str]:
    """The environment of a node whose clock is so many seconds off."""
    file.write_bytes(skew.to_bytes(8, sys.byteorder, signed=True))
    env = environment(shim, file)
    said = subprocess.check_output([sys.executable, "-c", "import time; print(time.time())"], env={**os.environ, **env})
    assert abs(float(said) - time() - skew) < SKEW / 2
    return env


@pytest.mark.thorough
def test_on_a_file(stage: Stage, url: str, tmp_path: Path) -> None:
    every_tick_once(Fleet(stage, url, tmp_path / "notes", *JOBS.values()), url, [{}] * min(NODES, 4))


def every_tick_once(fleet: Fleet, url: str, environments: Sequence[Mapping[str, str]]) -> None:
    print(f"CRON_SEED={SEED}")
    havoc = Havoc(fleet, SEED, environments)
    havoc.play(SECONDS)
    settled_at = time() + AFTERWARDS
    until(lambda: all(last(fleet, job) > settled_at for job in JOBS))
    fleet.leave()
    with dibs.connect(url, quiet=True) as d:
        for job in JOBS:
            is_told_of_once(fleet, d, job, havoc.harmed)
        assert not running(d, *JOBS)
        lost = [record for job in JOBS for record in history(d, job) if record.outcome == "lost"]
    assert lost or SECONDS < LONG_ENOUGH, "no fault has hit a run"


def last(fleet: Fleet, job: str) -> float:
    """The last tick that has ended."""
    return max((line.tick for line in fleet.lines(job, "ended")), default=0.0)


def is_told_of_once(fleet: Fleet, d: Dibs, job: str, harmed: set[int]) -> None:
    """The history knows of every tick, and says of each what was really done."""
    records = history(d, job)
    finals = [record for record in records if record.is_last]
    ticks = sorted(record.tick.timestamp() for record in finals)
    assert ticks == [ticks[0] + number for number in range(len(ticks))], "each tick has one end, and none is missing"
    assert ticks[0] <= fleet.lines(job)[0].tick
    assert ticks[-1] >= last(fleet, job)
    begun = Counter((line.tick, line.attempt) for line in fleet.lines(job))
    assert max(begun.values()) == 1, "no attempt is begun twice"
    assert {tick for tick, _ in begun} <= set(ticks)
    for record in records:
        is_true(fleet, record, harmed)
    fences_rise(records)


def is_true(fleet: Fleet, record: RunView, harmed: set[int]) -> None:
    key = record.tick.timestamp(), record.attempt
    pid = pid_of(record.node)
    if record.outcome == "lost":
        assert pid in harmed, record
    else:
        assert record.outcome == "ok", record
        assert record.result == pid, record
    noted = [(line.pid, line.fence) for line in fleet.lines(record.job) if (line.tick, line.attempt) == key]
    assert noted == [(pid, record.fence)] or (not noted and record.outcome == "lost"), (record, noted)


def fences_rise(records: Sequence[RunView]) -> None:
    """From each that was begun to the next."""
    begun = sorted(records, key=lambda record: str(record.started_at))
    fences = [record.fence or 0 for record in begun]
    assert fences == sorted(set(fences))
