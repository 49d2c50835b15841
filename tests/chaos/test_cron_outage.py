"""The store is silent while ticks come, and three nodes do as their jobs say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import time

import pytest

import dibs
from dibs import Dibs
from dibs.runtime.clock import boottime
from tests.chaos.fleet import Fleet, Line, history, pid_of, running, ticks, until
from tests.chaos.stage import Stage
from tests.servers.fixtures import on_valkey_9
from tests.servers.server import Server

LASTS = 10.0
NOTICED = 2.2
"""How long after its last word the store's silence may go unnoticed, and a node be held up by it."""
IN_TIME = 1.2
"""So long a node may take to look at its own clock while it asks the store in vain."""
SETTLED = 8.0
NODES = 3
POLICIES = ("open", "local", "closed")
TERMS = {"every": "1s", "lasts": 0.001, "ttl": 1, "catch_up": "all"}
JOBS = [{**TERMS, "name": policy, "on_outage": policy} for policy in POLICIES]

Moment = tuple[float, float]
"""By the clock that is never set, and by the machine's."""
Silence = tuple[Callable[[Server], None], Callable[[Server], None]]
PAUSED: Silence = (Server.pause, Server.resume)
AWAY: Silence = (Server.stop, Server.start)


@pytest.mark.thorough
@pytest.mark.parametrize("silence", [pytest.param(PAUSED, id="paused"), pytest.param(AWAY, id="away")])
@on_valkey_9
def test_each_job_is_run_as_it_says_and_all_of_it_is_told(
    stage: Stage, private_server: Server, tmp_path: Path, home: Path, silence: Silence
) -> None:
    fleet = Fleet(stage, private_server.url, tmp_path / "notes", *JOBS)
    for node in [fleet.start({"XDG_STATE_HOME": str(home)}) for _ in range(NODES)]:
        node.hear("serves")
    until(lambda: all(fleet.lines(job, "ended") for job in POLICIES))
    with dibs.connect(private_server.url, quiet=True) as d:
        until(lambda: not running(d, *POLICIES))
        began, ended = falls_silent(private_server, silence)
        until(lambda: all(fleet.lines(job, "ended")[-1].tick > ended[1] + 1 for job in POLICIES), within=SETTLED)
        until(lambda: not running(d, *POLICIES))
        fleet.leave()
        certain = {float(tick) for tick in range(int(began[1] + NOTICED) + 1, int(ended[1] - IN_TIME) + 1)}
        assert certain
        once_a_node(fleet, certain)
        once_a_machine(fleet, certain)
        not_before_the_end(fleet, began[0], ended[0])
        for job in POLICIES:
            is_told(fleet, d, job, ended[0])


def falls_silent(server: Server, silence: Silence) -> tuple[Moment, Moment]:
    """For a while: from when to when."""
    fall_silent, speak = silence
    fall_silent(server)
    began = boottime(), time()
    until(lambda: boottime() > began[0] + LASTS)
    ended = boottime(), time()
    speak(server)
    return began, ended


def without_the_store(fleet: Fleet, job: str) -> list[Line]:
    return [line for line in fleet.lines(job) if line.fence is None]


def once_a_node(fleet: Fleet, certain: set[float]) -> None:
    """Each by its own clock."""
    fired = Counter((line.pid, line.tick) for line in without_the_store(fleet, "open"))
    assert set(fired.values()) == {1}
    assert len({pid for pid, _ in fired}) == NODES
    for pid in {pid for pid, _ in fired}:
        assert certain <= {tick for by, tick in fired if by == pid}
    late = [(line.pid, line.tick, round(line.wall - line.tick, 2)) for line in without_the_store(fleet, "open")]
    assert all(off < IN_TIME for _, tick, off in late if tick in certain), late


def once_a_machine(fleet: Fleet, certain: set[float]) -> None:
    fired = Counter(line.tick for line in without_the_store(fleet, "local"))
    assert set(fired.values()) == {1}
    assert certain <= set(fired)


def not_before_the_end(fleet: Fleet, began: float, ended: float) -> None:
    """Whoever was answered just before the silence may begin then."""
    assert not without_the_store(fleet, "closed")
    assert not [line for line in fleet.lines("closed") if began + 0.5 < line.at < ended]


def is_told(fleet: Fleet, d: Dibs, job: str, ended: float) -> None:
    """Whatever was run is in the history, and what was run without the store is not run again with it."""
    records = [record for record in history(d, job) if record.is_last]
    begun = Counter((line.tick, line.pid, line.fence) for line in fleet.lines(job))
    told = Counter(
        (record.tick.timestamp(), pid_of(record.node), record.fence) for record in records if record.outcome == "ok"
    )
    assert begun == told
    assert {record.source for record in records if record.fence is None} <= {"outage"}
    loose = {line.tick for line in without_the_store(fleet, job)}
    again = [line for line in fleet.lines(job) if line.tick in loose and line.fence is not None and line.at > ended]
    assert not again
    known = sorted({record.tick.timestamp() for record in records})
    assert known == [known[0] + number for number in range(len(known))]
    assert len(ticks(records, source="schedule")) == len(set(ticks(records, source="schedule")))
