"""Nobody is there when ticks come, or the store forgets that somebody was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import time

import pytest

import dibs
from dibs import Dibs
from dibs.questions.history import RunView
from dibs.runtime.clock import boottime
from tests.chaos.fleet import Fleet, history, ticks, until
from tests.chaos.stage import Stage
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server
from tests.servers.skew import NO_SHIM, Skewed

PERIOD = 60
CATCH_UPS = ("latest", "all", "none")
TTL = 1.0
HELD_UP = 1.5
SETTLED = 6.0
"""So long after a server was started anew its jobs are run again as ever."""


@pytest.mark.skipif(bool(NO_SHIM), reason=NO_SHIM)
@on_valkey_9
def test_when_the_whole_fleet_was_down_each_job_catches_up_as_it_says(
    stage: Stage, skewed: Skewed, tmp_path: Path
) -> None:
    """For three minutes, by the server's clock, which is set: for its nodes that makes no difference."""
    skewed.set(until_second(PERIOD - 3))  # the first tick comes in a moment
    jobs = [{"name": policy, "every": f"{PERIOD}s", "lasts": 0.001, "catch_up": policy} for policy in CATCH_UPS]
    fleet = Fleet(stage, skewed.server.url, tmp_path / "notes", *jobs)
    fleet.started(2)
    until(lambda: len(fleet.lines(what="ended")) == len(CATCH_UPS))
    first = fleet.lines()[0].tick
    with dibs.connect(skewed.server.url, quiet=True) as d:
        until(lambda: all(outcomes(d, job) == [(first, "ok")] for job in CATCH_UPS))
        fleet.kill()
        skewed.step(3 * PERIOD + 12)  # too late for who does not catch up
        fleet.started(2)
        missed = [first + number * PERIOD for number in (1, 2, 3)]
        until(lambda: all(len(history(d, job)) == 4 for job in CATCH_UPS))
        fleet.leave()
        assert [outcomes(d, job)[1:] for job in CATCH_UPS] == [
            list(zip(missed, ["missed", "missed", "ok"], strict=True)),
            list(zip(missed, ["ok", "ok", "ok"], strict=True)),
            list(zip(missed, ["missed", "missed", "missed"], strict=True)),
        ]
        assert all(record.reason for job in CATCH_UPS for record in history(d, job) if record.outcome == "missed")
    assert [line.tick for line in fleet.lines("none")] == [first]
    assert [line.tick for line in fleet.lines("latest")] == [first, missed[-1]]
    assert [line.tick for line in fleet.lines("all")] == [first, *missed]


def until_second(second: int) -> int:
    """By how much the true time must be off to stand there in the period."""
    return int(second - time() % PERIOD) % PERIOD


def outcomes(d: Dibs, job: str) -> list[tuple[float, str]]:
    return sorted((record.tick.timestamp(), record.outcome) for record in history(d, job) if record.is_last)


@pytest.mark.thorough
def test_a_fleet_on_a_file_that_was_down_for_some_ticks_tells_of_each(
    stage: Stage, url: str, d: Dibs, tmp_path: Path
) -> None:
    jobs = [{"name": each, "every": "1s", "lasts": 0.001, "catch_up": each, "ttl": TTL} for each in ("latest", "all")]
    fleet = Fleet(stage, url, tmp_path / "notes", *jobs)
    fleet.started(1)
    until(lambda: bool(fleet.lines("latest", "ended") and fleet.lines("all", "ended")))
    fleet.kill()
    before = fleet.lines()[-1].tick
    until(lambda: time() > before + 3)
    fleet.started(2)
    back_at = time()
    until(lambda: all(fleet.lines(job, "ended")[-1].tick > back_at + 1 for job in ("latest", "all")))
    fleet.leave()
    caught_up, late = ([each for each in history(d, job) if each.is_last] for job in ("all", "latest"))
    tells_of_each(caught_up)
    tells_of_each(late)
    assert {before + 1, before + 2} <= set(ticks(late, outcome="missed"))
    assert set(ticks(late, outcome="ok")) <= {line.tick for line in fleet.lines("latest")}
    assert not {line.tick for line in fleet.lines("latest")} & set(ticks(late, outcome="missed"))
    assert {before + 1, before + 2, before + 3} <= set(ticks(caught_up, outcome="ok"))
    assert not ticks(caught_up, outcome="missed")


def tells_of_each(records: list[RunView]) -> None:
    told = sorted(record.tick.timestamp() for record in records)
    assert told == [told[0] + number for number in range(len(told))]


@pytest.fixture
def saved(start_server: Callable[..., Server]) -> Server:
    """A server that keeps what it knew when it was told to save it, and nothing else."""
    return start_server()


def without_what_came_last(server: Server) -> None:
    server.kill()
    server.start()


def without_anything(server: Server) -> None:
    server.kill()
    server.restart(empty=True)


@pytest.mark.thorough
@pytest.mark.parametrize("restart", [without_what_came_last, without_anything])
@on_valkey_9
def test_a_server_that_forgot_the_last_ticks_has_none_run_again(
    stage: Stage, saved: Server, tmp_path: Path, restart: Callable[[Server], None]
) -> None:
    """Though those who have run them are held up, and others are the first to find the server as it is now."""
    terms = {"every": "1s", "catch_up": "all", "overlap": "allow", "max_attempts": 3, "ttl": 10}
    quick, slow = {**terms, "name": "quick", "lasts": 0.001}, {**terms, "name": "slow", "lasts": 1.2}
    fleet = Fleet(stage, saved.url, tmp_path / "notes", quick, slow)
    nodes = fleet.started(3)
    until(lambda: bool(fleet.lines("quick", "ended")))
    saved.ask("SAVE")
    kept = max(line.tick for line in fleet.lines())
    until(lambda: len([line for line in fleet.lines("quick", "ended") if line.tick > kept]) >= 2)
    forgotten = {line.tick: line.pid for line in fleet.lines("quick") if line.tick > kept}
    knowing = [node for node in nodes if node.pid in forgotten.values()]
    for node in knowing:
        node.stop()
    restart(saved)
    back_at, back = time(), boottime()
    until(lambda: time() > back_at + HELD_UP)
    for node in knowing:
        node.go_on()
    until(lambda: fleet.lines("quick", "ended")[-1].tick > back_at + 1, within=SETTLED)
    fleet.leave()
    begun = Counter((line.job, line.tick) for line in fleet.lines())
    assert set(begun.values()) == {1}
    with dibs.connect(saved.url, quiet=True) as d:
        known = ticks(history(d, "quick"), is_last=True)
        assert set(forgotten) - set(known), "it has forgotten nothing"
        afterwards = sorted(tick for tick in known if tick > max(forgotten))
        assert afterwards == [afterwards[0] + number for number in range(len(afterwards))]
        assert afterwards[0] == max(forgotten) + 1 or restart is without_anything
        done = {line.tick for line in fleet.lines("slow", "ended") if line.at > back}
        uncounted = done - set(ticks(history(d, "slow"), outcome="ok"))
        assert not uncounted, [record for record in history(d, "slow") if record.tick.timestamp() in uncounted]
