"""The master of a fleet's jobs is replaced, and what it was told last is forgotten."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from time import time

import pytest

import dibs
from tests.chaos.fleet import Fleet, history, ticks, until
from tests.chaos.stage import Stage
from tests.servers.cluster import Cluster
from tests.servers.fixtures import on_valkey_9
from tests.servers.sentinels import House
from tests.stores.redis.sentinel.household import by_isolation

SETTLED = 8.0
"""So long after a failover jobs are run again as ever."""


@pytest.mark.thorough
@on_valkey_9
def test_no_tick_runs_twice_on_nodes_that_live_through_the_death_of_its_master(
    stage: Stage, cluster: Cluster, tmp_path: Path
) -> None:
    """In a cluster, where all jobs are in one slot."""
    terms = {"every": "1s", "catch_up": "all", "overlap": "allow", "max_attempts": 3, "ttl": 10}
    fleet = Fleet(stage, cluster.url, tmp_path / "notes", {**terms, "name": "quick", "lasts": 0.001})
    fleet.started(3)
    until(lambda: len(fleet.lines("quick", "ended")) >= 2)
    cluster.master_of("dibs:~fence").kill()
    until(lambda: cluster.master_of("dibs:~fence").is_running)
    moved_at = time()
    until(lambda: fleet.lines("quick", "ended")[-1].tick > moved_at + 1, within=SETTLED)
    fleet.leave()
    begun = Counter((line.job, line.tick) for line in fleet.lines())
    assert set(begun.values()) == {1}
    told = sorted(tick for _, tick in begun)
    assert told == [told[0] + number for number in range(len(told))]


@pytest.mark.thorough
@on_valkey_9
def test_no_tick_runs_twice_on_nodes_that_live_through_a_failover_that_forgets_some(
    stage: Stage, house: House, tmp_path: Path
) -> None:
    terms = {"every": "1s", "catch_up": "all", "overlap": "allow", "max_attempts": 3, "ttl": 10}
    fleet = Fleet(stage, house.url, tmp_path / "notes", {**terms, "name": "quick", "lasts": 0.001})
    fleet.started(3)
    until(lambda: bool(fleet.lines("quick", "ended")))
    house.copies_nothing(house.master)
    kept = max(line.tick for line in fleet.lines())
    until(lambda: len([line for line in fleet.lines("quick", "ended") if line.tick > kept]) >= 2)
    forgotten = {line.tick for line in fleet.lines("quick") if line.tick > kept}
    by_isolation(house)
    moved_at = time()
    until(lambda: fleet.lines("quick", "ended")[-1].tick > moved_at + 1, within=SETTLED)
    fleet.leave()
    begun = Counter((line.job, line.tick) for line in fleet.lines())
    assert set(begun.values()) == {1}
    fences = [line.fence for line in fleet.lines() if line.fence is not None]
    assert len(set(fences)) == len(begun)
    with dibs.connect(house.url, quiet=True) as d:
        known = ticks(history(d, "quick"), is_last=True)
        assert forgotten - set(known), "it has forgotten nothing"
        afterwards = sorted(tick for tick in known if tick > moved_at)
        assert afterwards == [afterwards[0] + number for number in range(len(afterwards))]
