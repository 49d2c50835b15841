"""What people say is done by a fleet of real nodes, while its nodes come and go."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from time import time

import pytest

import dibs
from dibs import Dibs
from dibs.control.backfill import Backfill
from tests.chaos.fleet import Fleet, history, until
from tests.chaos.havoc import Havoc
from tests.chaos.stage import Stage
from tests.servers.fixtures import on_valkey_9

TTL = 1.0
TICKS = 1_000
ACTS = 40
JOB = {"name": "report", "every": "1h", "lasts": 0.001, "ttl": TTL}


def known(d: Dibs, job: str) -> bool:
    return d.schedules.get(job) is not None


class Obedience:
    """Subclass it and give a `url` fixture."""

    @pytest.mark.thorough
    def test_a_backfill_of_a_thousand_ticks_runs_each_once_though_a_node_is_killed(
        self, stage: Stage, url: str, tmp_path: Path
    ) -> None:
        fleet = Fleet(stage, url, tmp_path / "notes", JOB)
        first, *_ = fleet.started(3)
        with dibs.connect(url, quiet=True) as d:
            until(lambda: known(d, "report"))
            now = datetime.now(UTC)
            ticks = d.schedules.backfill("report", now - timedelta(hours=TICKS), now)
            assert ticks.count in {TICKS, TICKS + 1}
            ticks.start(parallel=12, reason="the ledger was wrong")
            until(lambda: len(fleet.lines("report")) > TICKS // 3)
            fleet.kill_one(first)
            until(lambda: _is_filled_in(d), within=120.0)
            fleet.leave()
            runs = [record for record in history(d, "report") if record.source == "backfill"]
        begun = Counter(line.tick for line in fleet.lines("report"))
        assert set(begun.values()) == {1}, "none is begun twice"
        outcomes = Counter(record.outcome for record in runs if record.is_last)
        assert outcomes["ok"] + outcomes["lost"] == ticks.count
        assert {record.tick for record in runs} == _all(ticks)
        assert outcomes["lost"] <= 12, "only what the killed one had in its hands"

    @pytest.mark.thorough
    def test_what_is_said_holds_while_nodes_come_and_go(self, stage: Stage, url: str, tmp_path: Path) -> None:
        jobs = [
            {"name": "asked", "every": "1h", "lasts": 0.001, "ttl": TTL, "max_attempts": 5, "overlap": "allow"},
            {"name": "ticking", "every": "1s", "lasts": 0.001, "ttl": TTL},
        ]
        fleet = Fleet(stage, url, tmp_path / "notes", *jobs)
        havoc = Havoc(fleet, 7, [{}, {}, {}])
        storm = Thread(target=havoc.play, args=(12.0,))
        paused, asked_for = list[tuple[float, float]](), list[float]()
        with dibs.connect(url, quiet=True) as d:
            storm.start()
            until(lambda: known(d, "asked") and known(d, "ticking"))
            while storm.is_alive():
                d.schedules.pause("ticking", reason="while we look")
                since = time()
                asked_for.append(d.schedules.trigger("asked", reason="now").timestamp())
                storm.join(1.5)
                before_resuming = time()
                d.schedules.resume("ticking")
                paused.append((since, before_resuming))
                storm.join(0.7)
            until(lambda: {line.tick for line in fleet.lines("asked", "ended")} >= set(asked_for))
            fleet.leave()
        assert len(paused) > 3
        ticks = [line.tick for line in fleet.lines("ticking")]
        assert ticks, "it did tick"
        for since, to in paused:
            assert not [tick for tick in ticks if since < tick < to], "no tick of a pause is run, not even later"
        attempts = Counter((line.tick, line.attempt) for line in fleet.lines("asked"))
        assert set(attempts.values()) == {1}, "each attempt is begun once"
        assert {tick for tick, _ in attempts} == set(asked_for), "what was asked for, and nothing else"

    def test_nothing_fires_by_an_old_version_after_a_change_is_acknowledged(
        self, stage: Stage, url: str, tmp_path: Path
    ) -> None:
        fleet = Fleet(stage, url, tmp_path / "notes", {"name": "ticking", "every": "1s", "lasts": 0.001, "ttl": TTL})
        fleet.started(2)
        with dibs.connect(url, quiet=True) as d:
            until(lambda: len(fleet.lines("ticking", "ended")) > 1)
            d.schedules.change("ticking", every="1h", reason="too often")
            acknowledged = time()
            d.schedules.add("other", job="ticking", every="1s")
            until(lambda: len(fleet.lines("ticking", "ended")) > 5)
            view = d.schedules.get("ticking")
            assert view is not None
            assert (view.origin, view.version) == ("data", 2)
            by_schedule = Counter(record.tick.timestamp() for record in history(d, "ticking"))
            fleet.leave()
        assert not [tick for tick in by_schedule if tick > acknowledged]
        assert set(by_schedule.values()) == {1}


class TestOnAFile(Obedience):
    pass


@on_valkey_9
class TestOnAServer(Obedience):
    @pytest.fixture
    def url(self, server_url: str) -> str:
        return server_url


def _all(ticks: Backfill) -> set[datetime]:
    """Also those that are not shown."""
    return {ticks.ticks[0] + number * timedelta(hours=1) for number in range(ticks.count)}


def _is_filled_in(d: Dibs) -> bool:
    view = d.schedules.get("report")
    filled = None if view is None else view.backfill
    return filled is not None and filled.next is None and not filled.pending
