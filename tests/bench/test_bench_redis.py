"""The benchmark on Redis: how figures come about, who drops out, and that its server never stays behind."""

import socket
from typing import Any, cast

import pytest

from bench.crew import CrewFailed
from bench.redis import cores, watching
from bench.redis.contention import TOGETHER, Outcome
from bench.redis.contest import Contest
from bench.redis.cores import Cores
from bench.redis.cycling import Cycles
from bench.redis.floors import NotAsExpected
from bench.redis.node import NodeFailed
from bench.redis.node import _cycles as of_node
from bench.redis.peers import OURS, PYTHON_REDIS_LOCK, REDIS_PY, TASK, THREAD
from bench.redis.renewal import Holding
from bench.redis.server import program, serving
from bench.redis.targets import on_redis
from bench.rounds import Row
from bench.targets import Verdict, judged
from bench.turns import Turns
from dibs.flows.keeping import BATCH
from tests.servers.kinds import REDIS, VALKEY_9

NO_SERVER = pytest.mark.skipif(not (VALKEY_9.program() or REDIS.program()), reason=VALKEY_9.missing)


class Emptied:
    """A server that only counts how often it was told to forget."""

    flushes = 0

    def flush(self) -> None:
        self.flushes += 1


def contest(server: object) -> Contest:
    return Contest(cast("Any", server), Cores())


def test_each_contender_finds_an_empty_server_in_each_round() -> None:
    server = Emptied()
    assert contest(server).held("a scene", {THREAD: lambda: 1, REDIS_PY: lambda: 2}, 3) == {
        THREAD: [1, 1, 1],
        REDIS_PY: [2, 2, 2],
    }
    assert server.flushes == 6


def test_a_peer_that_breaks_down_drops_out_by_name_and_the_others_go_on() -> None:
    left = [1]

    def play() -> int:
        if left:
            return left.pop()
        raise CrewFailed("process 0 failed:\nTraceback\nConnectionError: it is gone\n")

    contested = contest(Emptied())
    assert contested.held("a scene", {THREAD: lambda: 5, REDIS_PY: play}, 4) == {THREAD: [5, 5, 5, 5]}
    assert contested.dropped == {f"{REDIS_PY} in a scene": "ConnectionError: it is gone"}


@pytest.mark.parametrize("face", OURS)
def test_a_run_in_which_we_break_down_ourselves_has_no_figures(face: str) -> None:
    def play() -> int:
        raise CrewFailed("process 0 died")

    with pytest.raises(CrewFailed):
        contest(Emptied()).held("a scene", {face: play}, 1)


def test_what_contenders_come_to_is_told_by_their_turns() -> None:
    turns = Turns.of([[(0.0, 1.0), (2.0, 3.0)], [(1.25, 1.5)], []])
    assert Outcome.of(turns, span=2.0) == Outcome(1.0, 0.25, 0.5, fairness=turns.fairness, starved=1)


def test_cycles_are_told_by_the_second_and_what_each_took() -> None:
    assert Cycles.of([0.1, 0.3, 0.2, 0.4], elapsed=2.0, used=1.0) == Cycles(pace=2.0, cpu=0.25, p99=0.4)


def test_what_node_says_is_either_its_cycles_or_why_there_are_none() -> None:
    assert of_node('{"waits": [0.5, 0.5], "elapsed": 1, "used": 0.5}\n') == Cycles(2.0, 0.25, 0.5)
    with pytest.raises(NodeFailed, match="Cannot find module"):
        of_node("Error: Cannot find module 'redlock'\n")


@pytest.mark.parametrize(
    ("there", "shared"),
    [
        ({3}, Cores()),
        ({1, 0}, Cores([0], [1], [1])),
        ({5, 2, 3, 4}, Cores([2], [5], [3, 4, 5])),
    ],
)
def test_the_server_has_a_core_of_its_own_where_there_are_two(
    monkeypatch: pytest.MonkeyPatch, there: set[int], shared: Cores
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: there, raising=False)
    assert cores.shared_out() == shared
    assert shared.are_apart is (len(there) > 1)


class Counting:
    """A server that has been asked this often, each time somebody looks."""

    def __init__(self, *looks: dict[str, int]) -> None:
        self._looks = iter(looks)

    def info(self, _: str) -> dict[str, dict[str, int]]:
        return {f"cmdstat_{name}": {"calls": calls, "usec": 9} for name, calls in next(self._looks).items()}


def test_commands_are_counted_without_what_scripts_do_and_without_our_own_look() -> None:
    control = Counting(
        {"evalsha": 5, "script|load": 7, "set": 5, "info": 1},
        {"evalsha": 8, "script|load": 8, "set": 90, "info": 2},
    )
    assert watching.commands(control, watching.SCRIPTED, 0.0, lambda: 0.0) == 4


def test_one_row_is_judged_beside_each_peer_that_it_is_to_beat() -> None:
    ours, peer, other = (
        Row(f"hand-overs, {TOGETHER}: {name}", [rate], "/s")
        for name, rate in ((TASK, 60.0), (PYTHON_REDIS_LOCK, 10.0), (REDIS_PY, 3.0))
    )
    verdicts = {
        judgement.target.contender: (judgement.found, judgement.verdict)
        for judgement in judged([ours, peer, other], on_redis(1_000, Holding(10_000, 30.0)))
        if judgement.target.row == ours.name
    }
    assert verdicts == {other.name: (20.0, Verdict.MISSED), peer.name: (6.0, Verdict.MET)}


def test_one_batch_renews_as_many_leases_as_a_command_does() -> None:
    assert [Holding(size, 30.0).batches for size in (1, BATCH, BATCH + 1, 8 * BATCH)] == [1, 1, 2, 8]


@NO_SERVER
@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, NotAsExpected])
def test_the_server_is_gone_however_the_run_ends(end: type[BaseException]) -> None:
    def run() -> None:
        with serving(cast("str", program()), Cores()) as server:
            ports.append(server.port)
            assert server.name.split()[0] in {"Redis", "Valkey"}
            raise end

    ports: list[int] = []
    with pytest.raises(end):
        run()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports[0]))
