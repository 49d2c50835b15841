"""Nodes that end in the middle of a run: suddenly, for a while, or as they are told to."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import dibs
from dibs import Dibs
from dibs.runtime.clock import boottime
from tests.chaos.crons import run_until_told
from tests.chaos.fleet import Fleet, history, pid_of, running, until
from tests.chaos.stage import Actor, Stage
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server

TTL = 1.0
IN_TIME = 1.0
"""How long after its TTL a dead node's run may be without a new one."""
TERMS = {"name": "long", "ttl": TTL, "max_attempts": 2}
BATCHES, NODES, LATEST = 2, 7, 1.2
GRACE = 0.2
SOON = 5.0
"""By then a node whose grace is short has left, whatever it did."""


def taken_over(stage: Stage, url: str, strike: Callable[[Actor], None]) -> tuple[Actor, Actor, float]:
    """One node has begun a run when it is struck; another goes on. Gives both, and the tick."""
    first = stage.start(run_until_told, url, TERMS)
    [name] = first.hear("serves")
    [tick, attempt, fence, _] = first.hear("begun")
    assert attempt == 1
    second = stage.start(run_until_told, url, TERMS)
    second.hear("serves")
    strike(first)
    struck_at = boottime()
    [same_tick, attempt, higher_fence, begun_at] = second.hear("begun")
    assert (same_tick, attempt) == (tick, 2)
    assert higher_fence > fence
    assert begun_at < struck_at + TTL + IN_TIME
    with dibs.connect(url, quiet=True) as d:
        [record] = [record for record in history(d, "long") if record.tick.timestamp() == tick]
        assert (record.outcome, record.node, record.fence, record.is_last) == ("lost", name, fence, False)
    return first, second, tick


def is_ended_by(d: Dibs, tick: float, node: Actor) -> None:
    """It is this node's result that counts, and no other."""
    [record] = [each for each in history(d, "long") if each.is_last and each.tick.timestamp() == tick]
    assert (record.outcome, record.attempt, record.result) == ("ok", 2, node.pid)
    assert pid_of(record.node) == node.pid


def has_ended(d: Dibs, tick: float) -> bool:
    return any(each.is_last and each.tick.timestamp() == tick for each in history(d, "long"))


def test_a_killed_node_s_run_is_taken_over_when_its_ttl_is_over(stage: Stage, url: str, d: Dibs) -> None:
    _, second, tick = taken_over(stage, url, Actor.kill)
    second.tell("end")
    until(lambda: has_ended(d, tick))
    is_ended_by(d, tick, second)


@on_valkey_9
def test_what_a_stopped_node_says_too_late_does_not_count(stage: Stage, server: Server) -> None:
    late, second, tick = taken_over(stage, server.url, Actor.stop)
    late.go_on()
    assert late.hear("forsaken") == [tick, 1]
    late.tell("end")
    os.kill(late.pid, signal.SIGTERM)
    late.hear("left")  # it has told all that it had to tell
    with dibs.connect(server.url, quiet=True) as d:
        assert not has_ended(d, tick)
        second.tell("end")
        until(lambda: has_ended(d, tick))
        is_ended_by(d, tick, second)
        assert len([each for each in history(d, "long") if each.tick.timestamp() == tick]) == 2


JOBS = [
    {"name": "quick", "every": "1s", "lasts": 0.001, "ttl": TTL, "overlap": "allow"},
    {"name": "thread", "every": "1s", "lasts": 2, "ttl": TTL, "overlap": "allow"},
    {"name": "task", "every": "1s", "lasts": 0.6, "is_async": True, "ttl": TTL, "overlap": "allow"},
    {"name": "again", "every": "1s", "lasts": 0.9, "is_async": True, "max_attempts": 9, "ttl": TTL, "overlap": "allow"},
]
NAMES = [str(job["name"]) for job in JOBS]


@pytest.mark.thorough
def test_who_is_interrupted_leaves_no_run_behind_on_a_file(stage: Stage, url: str, d: Dibs, tmp_path: Path) -> None:
    are_interrupted(Fleet(stage, url, tmp_path / "notes", *JOBS, grace=GRACE), d, Random(7))


@pytest.mark.thorough
@on_valkey_9
def test_who_is_interrupted_at_any_moment_leaves_no_run_behind(stage: Stage, server: Server, tmp_path: Path) -> None:
    random, fleet = Random(6), Fleet(stage, server.url, tmp_path / "notes", *JOBS, grace=GRACE)
    with dibs.connect(server.url, quiet=True) as d:
        for _ in range(BATCHES):
            are_interrupted(fleet, d, random)
        lost = [record for name in NAMES for record in history(d, name) if record.outcome == "lost"]
        assert {record.reason for record in lost} == {"its node was shut down"}
        assert {record.is_last for record in lost} == {True, False}


def are_interrupted(fleet: Fleet, d: Dibs, random: Random) -> None:
    """A few nodes, one after the other."""
    waits = sorted(random.uniform(0, LATEST) for _ in range(NODES))
    nodes, began, nobody = fleet.started(NODES), boottime(), threading.Event()
    for node, wait in zip(nodes, waits, strict=True):
        nobody.wait(max(began + wait - boottime(), 0))  # any moment is as good
        os.kill(node.pid, random.choice([signal.SIGTERM, signal.SIGINT]))
    for node in nodes:
        node.ends(within=SOON)
    assert not running(d, *NAMES)
    fleet.forget()


def test_who_is_interrupted_twice_does_not_wait_for_its_runs(stage: Stage, url: str, d: Dibs) -> None:
    node = stage.start(run_until_told, url, TERMS)
    [name] = node.hear("serves")
    [tick, *_] = node.hear("begun")
    for number in (signal.SIGINT, signal.SIGTERM):  # two of a kind may be one, if they come close together
        os.kill(node.pid, number)
    assert node.hear("forsaken", within=SOON) == [tick, 1]
    node.hear("left", within=SOON)
    assert not running(d, "long")
    [record] = [record for record in history(d, "long") if record.tick.timestamp() == tick]
    assert (record.outcome, record.reason, record.node) == ("lost", "its node was shut down", name)


@pytest.mark.thorough
@on_valkey_9
def test_who_is_interrupted_while_the_store_is_silent_ends_all_the_same(
    stage: Stage, private_server: Server, tmp_path: Path
) -> None:
    fleet = Fleet(stage, private_server.url, tmp_path / "notes", *JOBS, grace=GRACE)
    nodes = fleet.started(3)
    until(lambda: bool(fleet.lines("thread")))
    private_server.pause()
    for node in nodes:
        os.kill(node.pid, signal.SIGINT)
    for node in nodes:
        node.ends(within=2 * SOON)
    fleet.forget()
    private_server.resume()
    with dibs.connect(private_server.url, quiet=True) as d:
        left_behind = {run.owner for run in running(d, *NAMES)}
        assert left_behind, "they have told the store that they ended"
        fleet.started(1)
        until(lambda: not left_behind & {run.owner for run in running(d, *NAMES)}, within=TTL + SOON)
    fleet.leave()
