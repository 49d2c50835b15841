"""The example of source 000, run as a reader would run it: its output and answers; killed, paused, and in a storm."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import dibs
from examples.ads_cluster import on_redis, on_sqlite
from examples.ads_cluster.keys import opened
from tests.chaos.stage import LONG, ROOT
from tests.examples.clusters import Answer, Cluster, Embedded, OnQuorum, OnRedis, Place, cluster
from tests.examples.fleets import environment
from tests.examples.storms import CLIENTS, SECONDS, WORKERS, Storm
from tests.servers.fixtures import on_valkey_9, there
from tests.servers.kinds import VALKEY_9, Kind
from tests.servers.server import Server

BACK_WITHIN = 2.0
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
BUSY = {"success": False, "message": "Could not acquire lock. Please try again later."}

BAD = [
    (b"{not json", 400, "not JSON"),
    (b"\xff\xfe", 400, "not JSON"),
    (b"[" * 60_000, 400, "not JSON"),
    (b'{"duration": ' + b"9" * 10_000 + b"}", 400, "not JSON"),
    (b'["a list"]', 400, "no JSON object"),
    (b"null", 400, "no JSON object"),
    (b'{"duration": -1}', 400, "from 0 to 60000"),
    (b'{"duration": 60001}', 400, "from 0 to 60000"),
    (b'{"duration": NaN}', 400, "from 0 to 60000"),
    (b'{"duration": 1e999}', 400, "from 0 to 60000"),
    (b'{"duration": "2000"}', 400, "a number of milliseconds, not str"),
    (b'{"duration": true}', 400, "a number of milliseconds, not bool"),
    (b'{"duration": null}', 400, "a number of milliseconds, not NoneType"),
    (b'{"operationName": 7}', 400, "is text, not int"),
    (b'{"operationName": ""}', 400, "at least one character"),
    (b'{"operationName": "a\\u0000b"}', 400, "control"),
    (b'{"operationName": "\\ud800"}', 400, "surrogate"),
    (json.dumps({"operationName": "x" * 201}).encode(), 400, "at most 200 bytes"),
    (b'"' + b"x" * 64 * 1024 + b'"', 413, "too large: it may have 65536 bytes"),
]


@pytest.fixture(params=["embedded", "valkey"])
def place(request: pytest.FixtureRequest, tmp_path: Path, shared_servers: Callable[[Kind], Server]) -> Place:
    """Both, and both empty."""
    if request.param == "embedded":
        return Embedded(tmp_path)
    server = shared_servers(there(VALKEY_9))
    server.flush()
    return OnRedis(server)


def test_the_output_and_the_answers_are_those_of_the_document(place: Place, tmp_path: Path) -> None:
    assert "\npython -m examples.ads_cluster\n" in (ROOT / "examples" / "ads_cluster" / "README.md").read_text()
    with cluster(place, tmp_path) as workers:
        workers.are_at_rest(2)
        the_output_is_right(workers.fleet.lines, place)
        the_answers_are_right(workers, place)
        for body, status, words in BAD:
            answer = workers.ask(1, "POST", "/update", body)
            assert answer.status == status, body[:60]
            assert words in answer.told["message"]
            assert answer.told["success"] is False
        fences_rise(place)
        lines = workers.fleet.ends()
    assert sum("dibs.sqlite" in line for line in lines) == (place.health == "embedded"), "one warning, or none"
    assert not [line for line in lines if "Traceback" in line]


def test_on_a_quorum_the_workers_go_on_without_one_of_the_servers(tmp_path: Path) -> None:
    with ExitStack() as stack:
        three = [stack.enter_context(Server(there(VALKEY_9), "appendonly yes", "appendfsync always")) for _ in range(3)]
        place = OnQuorum(three)
        with cluster(place, tmp_path) as workers:
            workers.are_at_rest(2)
            the_output_is_right(workers.fleet.lines, place)
            assert not three[1].ask("EXISTS", "ADS_REDLOCK"), "the first has the keys"
            three[2].pause()
            for worker in (1, 2, 1):
                assert workers.update(worker, "Without one").status == 200
            three[2].resume()
            the_answers_are_right(workers, place)
            fences_rise(place)
            lines = workers.fleet.ends()
    assert not [line for line in lines if "Traceback" in line or "may lose locks" in line]


def the_output_is_right(lines: list[str], place: Place) -> None:
    """Each of the document's lines is there: one worker has made the value, and then each has written in its turn."""
    start = lines.index("Starting 2 worker processes...")
    assert re.fullmatch(r"Primary process \d+ is running", lines[start - 1])
    said = [re.sub(r"\[Worker (\d) \(PID: \d+\)\] ", r"\1: ", line) for line in lines]
    initial = [re.fullmatch(rf"(\d): Set WARMUP_LAST_SUCCESSFUL to: ({MOMENT})", line) for line in said]
    minutes = [found[2][:16] for found in initial if found]
    assert minutes
    assert len(minutes) == len(set(minutes)), "once a minute"
    first = next(found[1] for found in initial if found)
    ads = rf"{{ id: 'worker-{first}', name: 'Initial Worker {first}', time: '{MOMENT}' }}"
    assert is_in_order(
        said,
        f"{first}: Connected to {place.name}",
        f"{first}: {place.name} connection established",
        rf"{first}: ADS_REDLOCK does not exist\. Creating initial value\.\.\.",
        rf"{first}: Created ADS_REDLOCK key: {ads}",
        rf"{first}: Set WARMUP_LAST_SUCCESSFUL to: {MOMENT}",
    )
    for worker in "12":
        name = "Cache Update Operation 1"
        assert is_in_order(
            said,
            f"{worker}: {place.name} connection established",
            f"{worker}: Attempting to acquire lock for: {name}",
            rf"{worker}: ✓ Lock acquired after \d+ms for: {name}",
            rf"{worker}: Current ADS_REDLOCK value: {{ id: 'worker-\d', name: '[^']+', time: '{MOMENT}' }}",
            rf"{worker}: ✓ Updated ADS_REDLOCK to: {{ id: 'worker-{worker}', name: '{name} by Worker {worker}', .*",
            rf"{worker}: Operation took \d+ms",
            f"{worker}: ✓ Lock released for: {name}",
        )


def is_in_order(lines: list[str], *patterns: str) -> bool:
    """Whether each is said, after the one before it."""
    rest = iter(lines)
    return all(any(re.fullmatch(pattern, line) for line in rest) for pattern in patterns)


def the_answers_are_right(workers: Cluster, place: Place) -> None:
    for worker in (1, 2):
        status, told = workers.ask(worker, "GET", "/status")
        assert (status, list(told)) == (200, ["workerId", "processId", "status", "timestamp"])
        assert (told["workerId"], told["status"]) == (worker, "running")
        assert re.fullmatch(MOMENT, told["timestamp"])
        health = {"status": "healthy", "workerId": worker, "redis": place.health}
        assert workers.ask(worker, "GET", "/health") == Answer(200, health)
    status, told = workers.update(2, "Manual «Update»")
    assert (status, told["success"], told["message"]) == (200, True, "Operation completed successfully")
    assert (told["data"]["id"], told["data"]["name"]) == ("worker-2", "Manual «Update» by Worker 2")
    assert re.fullmatch(MOMENT, told["data"]["time"])
    assert workers.ask(1, "GET", "/ads") == Answer(200, {"success": True, "data": told["data"]})
    assert json.loads(place.value("ADS_REDLOCK") or "") == told["data"]
    assert re.fullmatch(MOMENT, place.value("WARMUP_LAST_SUCCESSFUL") or "")
    for body in (None, b"{}"):
        assert workers.ask(1, "POST", "/update", body).told["data"]["name"] == "Custom Operation Name by Worker 1"
    status, told = workers.ask(1, "GET", "/nowhere")
    assert (status, list(told)) == (404, ["error", "availableEndpoints"])
    assert {"GET /status", "GET /ads", "POST /update", "GET /health"} <= set(told["availableEndpoints"])
    assert len(told["availableEndpoints"]) == len(set(told["availableEndpoints"]))


def fences_rise(place: Place) -> list[str]:
    """Gives the names of all that was written, in the order of their fences."""
    log = place.log()
    assert all(before < after for (before, _), (after, _) in pairwise(log))
    return [name for _, name in log]


class Turn(NamedTuple):
    """What a write needs of a lease."""

    name: str
    fence: int


def test_a_write_and_its_line_in_the_log_are_made_together_or_not_at_all(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in (on_redis, on_sqlite):
        monkeypatch.setattr(room, "LOG_LENGTH", 3)
    asyncio.run(the_late_one_is_refused(place))
    assert place.log() == [(2, "B"), (10, "C"), (11, "D")], "the last three"
    assert (place.value("ADS_REDLOCK"), place.value("WARMUP_LAST_SUCCESSFUL")) == ("d", "then")


async def the_late_one_is_refused(place: Place) -> None:
    keys = opened(place.url)
    await keys.write(Turn("any", 1), "a", "A", warmed_up="then")
    await keys.write(Turn("any", 2), "b", "B")
    await keys.write(Turn("any", 10), "c", "C")
    with pytest.raises(dibs.StaleFence) as refused:
        await keys.write(Turn("any", 9), "late", "Late", warmed_up="late")
    assert (refused.value.fence, refused.value.newest) == (9, 10)
    await keys.write(Turn("any", 11), "d", "D")
    if place.health == "connected":  # its client may send it twice, if it did not hear the answer
        await keys.write(Turn("any", 11), "d", "D")
    await keys.close()


def test_what_cannot_be_meant_is_told_before_anything_is_started(tmp_path: Path) -> None:
    for said in ({"NUM_WORKERS": "0"}, {"NUM_WORKERS": "four"}, {"HTTP_PORT": "70000"}, {"DIBS_URL": "memory://"}):
        words = [sys.executable, "-m", "examples.ads_cluster"]
        env = environment(tmp_path, **said)
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=env, timeout=LONG, check=False)
        assert (done.returncode, done.stdout) == (78, "")
        assert next(iter(said.values())).removesuffix("//") in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.thorough
def test_a_paused_worker_does_not_overwrite_what_was_written_since(place: Place, tmp_path: Path) -> None:
    with cluster(place, tmp_path) as workers, ThreadPoolExecutor() as threads:
        workers.are_at_rest(2)
        pid = workers.pid(1)
        late = threads.submit(workers.update, 1, "Late", 500)
        workers.hear(1, "✓ Lock acquired after .* for: Late")
        os.kill(pid, signal.SIGSTOP)
        try:
            assert workers.update(2, "Quick").status == 200
        finally:
            os.kill(pid, signal.SIGCONT)
        assert late.result(LONG).status == 503
        assert workers.ask(2, "GET", "/ads").told["data"]["name"] == "Quick by Worker 2"
        assert "Late by Worker 1" not in fences_rise(place)
        assert workers.update(1, "Next").status == 200
        assert workers.pid(1) == pid
        workers.fleet.ends()


@pytest.mark.thorough
def test_who_does_not_get_the_lock_in_ten_seconds_is_told_so(tmp_path: Path) -> None:
    place = Embedded(tmp_path)
    with cluster(place, tmp_path, workers=1) as workers:
        workers.are_at_rest(1)
        with dibs.connect(place.url, namespace="locks", quiet=True) as d, d.lock("ADS_REDLOCK"):
            assert workers.update(1, "Refused") == Answer(503, BUSY)
        workers.hear(1, r"✗ Could not acquire lock after 1\d{4}ms for: Refused")
        assert workers.update(1, "Next").status == 200
        workers.fleet.ends()


@pytest.mark.thorough
@on_valkey_9
def test_while_redis_is_away_the_workers_say_so_and_go_on_when_it_is_back(
    private_server: Server, tmp_path: Path
) -> None:
    private_server.kill()
    unhealthy = Answer(503, {"status": "unhealthy", "workerId": 1, "redis": "disconnected"})
    with cluster(OnRedis(private_server), tmp_path, workers=1, DIBS_PATIENCE="2s") as workers:
        workers.hear(1, "Redis connection failed, trying again: .*")
        assert workers.ask(1, "GET", "/health") == unhealthy
        private_server.start()
        workers.are_at_rest(1)
        assert workers.update(1, "Before").status == 200
        private_server.kill()
        assert workers.ask(1, "GET", "/health") == unhealthy
        assert workers.update(1, "Meanwhile") == Answer(503, BUSY)
        status, told = workers.ask(1, "GET", "/ads")
        assert (status, told["success"]) == (500, False)
        private_server.start()
        assert any(workers.update(1, "After").status == 200 for _ in range(20))
        workers.fleet.ends()


@pytest.mark.thorough
def test_in_a_storm_each_answered_write_is_made_once_and_killed_workers_come_back(place: Place, tmp_path: Path) -> None:
    with cluster(place, tmp_path, workers=WORKERS, ADS_DURATION="0") as workers:
        workers.are_at_rest(WORKERS)
        storm = Storm(workers)
        asyncio.run(storm.rages())
        lines = workers.fleet.ends()
    assert set(storm.answers) <= {200, 503, "broken"}
    assert len(storm.times) == SECONDS
    assert sum("Attempting to acquire lock for: Cache Update Operation 1" in line for line in lines) == WORKERS
    assert max(storm.times) < BACK_WITHIN, storm.times
    written = Counter(fences_rise(place))
    assert len(storm.written) >= CLIENTS // 2
    assert {name: written[name] for name in storm.written if written[name] != 1} == {}
    assert storm.answers[200] == len(storm.written)
