"""The example of source 001, run as a reader would run it: its steps fail, hang and crash, its pods die and sleep."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import dibs
from tests.chaos.stage import LONG
from tests.examples.fleets import Fleet, environment, words_of_the_readme
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST, Row
from tests.servers.server import Server

PODS = 3
MOST_REPORTS = 500
"""So many lines of reports may come before all is over."""
KEY = "workflow:retry-scheduler"
FREE = {"lockKey": KEY, "locked": False, "remainingTime": 0, "threadId": None}
STEPS = int(os.environ.get("WORKFLOW_STEPS", "300"))
"""Of a story with many of them; 1020 are a thousand, whatever is exhausted on the way."""
TROUBLES = ("--steps", "6", "--fail", "0.25", "--hang", "0.1", "--crash", "0.08", "--seed", "2605")
"""The first order's charge kills its pod, and then its shipping hangs; of the second, some attempts fail."""
WITHOUT_A_SERVER = {"REDISSON_ENABLED": "false"}
SOON_FREE = {"WORKFLOW_LOCK_TIMEOUT": "3"}
"""The lock of a scheduler whose pod is dead: after 30 s, as the file says, all would go as well, and take long."""


class Workflow(Fleet):
    """The pods, the orders that they are given, and the ledger of what was done."""

    def __init__(self, folder: Path, ports: Row, *words: str, **said: str) -> None:
        self.ledger, self._ports = folder / "ledger.sqlite", ports
        where = ("--port", str(ports.before), "--ledger", str(self.ledger))
        super().__init__("examples.workflow", *words, *where, env=environment(folder, **said))

    def sums_up(self) -> tuple[int, int, int]:
        """When all is over: how many attempts failed, timed out, and were resumed. Every step ended, and acted once."""
        reports = (
            self.hear(r"Steps: (\d+); (\d+) ok, (\d+) exhausted|Pod \d: so far: .*") for _ in range(MOST_REPORTS)
        )
        steps, ok, exhausted = next(map(int, told.groups()) for told in reports if told[1])
        failed, timed_out, resumed = map(int, self.hear(r"Attempts: \d+; (\d+) .*, (\d+) .*, (\d+) resumed").groups())
        self.hear(r"Effects: .*")
        assert steps == ok + exhausted
        assert ok <= effects(self.ledger) <= steps
        return failed, timed_out, resumed

    def all_come_up(self) -> None:
        """Listen until each pod answers: one that has died may not be back."""
        while len(self._up()) < PODS:
            self.hear(r"Pod \d is process .*")

    def _up(self) -> list[str]:
        told = [found for line in self.lines if (found := re.match(r"Pod (\d) (is process|has died)", line))]
        return [pod for pod, what in {found[1]: found[2] for found in told}.items() if what == "is process"]

    def ask(self, pod: int, path: str, said: object = None) -> tuple[int, Any]:
        """What a pod answers: to a POST if something is said."""
        body = None if said is None else json.dumps(said).encode()
        url = f"http://{HOST}:{self._ports.before + pod}{path}"
        try:
            with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=LONG) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refusal:
            with refusal:
                return refusal.code, json.load(refusal)

    @contextmanager
    def asleep(self, pod: int) -> Generator[int]:
        """A pod is held up wherever it is; gives its process, which may be killed meanwhile."""
        pid = [int(found[1]) for line in self.lines if (found := re.match(rf"Pod {pod} is process (\d+)", line))][-1]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def effects(file: Path) -> int:
    """How many steps have had their effect: each once, by the first attempt that came, and none by a late one."""
    with closing(sqlite3.connect(file)) as ledger:
        [(steps,)] = ledger.execute("SELECT count(*) FROM effect")
        [(counted,)] = ledger.execute("SELECT sum(effects) FROM total")
        visits = list(ledger.execute("SELECT step, fence, what FROM visit ORDER BY rowid"))
    newest, done = dict[str, int](), set[str]()
    for step, fence, what in visits:
        assert (fence < newest.get(step, 0)) == (what == "late"), (step, fence, what)
        assert (what == "done") == (what != "late" and step not in done), (step, what)
        newest[step], done = max(fence, newest.get(step, 0)), done | {step}
    assert len(done) == steps == counted
    return int(steps)


@pytest.fixture
def ports() -> Iterator[Row]:
    with closing(Row(PODS)) as row:
        yield row


def redis_at(server: Server) -> dict[str, str]:
    """In the words of the document's deployment."""
    return {"REDISSON_ENABLED": "true", "REDIS_HOST": HOST, "REDIS_PORT": str(server.port)}


def is_held_seen_and_taken_away(fleet: Workflow, d: dibs.Dibs, look: Callable[[], None]) -> None:
    """A scheduler's lock as the admin sees it: free, held by us, and free again by force."""
    fleet.all_come_up()
    assert fleet.ask(1, "/admin/locks/retry-scheduler") == (200, FREE)

    def unlock() -> None:
        status, told = fleet.ask(2, "/admin/locks/retry-scheduler")
        assert (status, told["lockKey"], told["locked"], told["threadId"]) == (200, KEY, True, os.getpid())
        assert 0 < told["remainingTime"] <= 30_000
        look()
        status, told = fleet.ask(3, "/admin/locks/retry-scheduler/unlock", {"reason": "its pod is gone"})
        assert status == 200, told

    with pytest.raises(dibs.LeaseLost):
        d.execute_with_lock("retry-scheduler", unlock, reentrant=True)
    assert fleet.ask(1, "/admin/locks/retry-scheduler") == (200, FREE)
    assert fleet.ask(1, "/admin/locks/retry-scheduler/unlock", {"reason": "once more"})[0] == 404


@on_valkey_9
def test_steps_fail_hang_and_crash_and_act_once_with_redis(server: Server, tmp_path: Path, ports: Row) -> None:
    def look() -> None:
        assert server.ask("KEYS", KEY) == [KEY]
        owner, count = server.ask("HGETALL", KEY)
        inside = d.execute_with_lock("retry-scheduler", lambda: server.ask("HGETALL", KEY), reentrant=True)
        assert (count, inside) == ("1", [owner, "2"])

    with Workflow(tmp_path, ports, *TROUBLES, "--stay", **redis_at(server)) as fleet:
        assert min(fleet.sums_up()) > 0
        with dibs.connect(server.url, namespace="workflow", quiet=True) as d:
            is_held_seen_and_taken_away(fleet, d, look)
        fleet.ends()
    assert not (tmp_path / "state").exists()


@pytest.mark.thorough
def test_steps_fail_hang_and_crash_and_act_once_without_a_server(tmp_path: Path, ports: Row) -> None:
    words = (*TROUBLES, "--batch", "day", "--stay")
    with Workflow(tmp_path, ports, *words, **WITHOUT_A_SERVER) as fleet:
        assert min(fleet.sums_up()) > 0
        fleet.all_come_up()
        status, told = fleet.ask(1, "/orders/day-1")
        assert (status, told["steps"][0]["step"], told["steps"][0]["state"]) == (200, "reserve", "ok")
        assert fleet.ask(1, "/orders/day-3")[0] == 404
        [file] = (tmp_path / "state").rglob("dibs.sqlite")
        with dibs.connect(f"sqlite:///{file}", namespace="workflow", quiet=True) as d:
            is_held_seen_and_taken_away(fleet, d, lambda: None)
        fleet.ends()


@pytest.mark.thorough
def test_the_command_of_the_readme_does_all_orders_without_a_server(tmp_path: Path, ports: Row) -> None:
    with Workflow(tmp_path, ports, *words_of_the_readme("workflow"), **SOON_FREE, **WITHOUT_A_SERVER) as fleet:
        failed, _, resumed = fleet.sums_up()
        assert min(failed, resumed) > 0
        fleet.ends()


@pytest.mark.thorough
@on_valkey_9
def test_many_steps_end_and_act_once_while_pods_are_killed_and_one_sleeps(
    server: Server, tmp_path: Path, ports: Row
) -> None:
    words = ("--steps", str(STEPS), "--fail", "0.2", "--hang", "0.05", "--kill-every", "3")
    with Workflow(tmp_path, ports, *words, **SOON_FREE, **redis_at(server)) as fleet:
        fleet.hear(r"Pod 3: .* it is tried again")
        with fleet.asleep(3) as pid:
            fleet.hear(rf"Pod [12]: .* was not renewed by .*:{pid}:.*: it is begun once more")
        failed, timed_out, resumed = fleet.sums_up()
        assert min(failed, timed_out) > STEPS / 100
        assert resumed > 0  # at least the one that was waited for: what else a pod has in hand when it stops is chance
        lines = fleet.ends()
    assert sum(bool(re.fullmatch(r"Pod \d has died: ended by SIGKILL", line)) for line in lines) > 1


@pytest.mark.thorough
@on_valkey_9
def test_without_redis_there_is_no_locking_and_each_time_a_warning(
    private_server: Server, tmp_path: Path, ports: Row
) -> None:
    soon = {"WORKFLOW_REPORT_EVERY": "0.2", "DIBS_PATIENCE": "1s"}
    with Workflow(tmp_path, ports, "--steps", "3", "--stay", **soon, **redis_at(private_server)) as fleet:
        fleet.sums_up()
        private_server.kill()
        fleet.hear_all(
            {
                rf"Pod {pod}: 'report-scheduler' goes on without a lock, as on_outage='open' says: .*"
                for pod in (1, 2, 3)
            }
        )
        private_server.start()
        fleet.hear(r"Pod \d: locks come from .* again, after .*")
        fleet.ends()


@pytest.mark.thorough
@on_valkey_9
def test_a_lock_that_is_refused_again_and_again_is_told(server: Server, tmp_path: Path, ports: Row) -> None:
    words, soon = ("--steps", "3", "--stay"), {"WORKFLOW_REPORT_EVERY": "0.2"}
    refused = r"Pod \d: 'report-scheduler' was refused 5 times in a row here, .*: is it stuck\?"
    with Workflow(tmp_path, ports, *words, **soon, **redis_at(server)) as fleet:
        fleet.sums_up()
        with dibs.connect(server.url, namespace="workflow", quiet=True) as d:
            d.execute_with_lock("report-scheduler", lambda: fleet.hear(refused), wait=LONG)
        fleet.hear(r"Pod \d: so far: .*")
        fleet.ends()


@pytest.mark.thorough
def test_one_instance_does_without_locking(tmp_path: Path, ports: Row) -> None:
    off = {"WORKFLOW_LOCK_ENABLED": "false", "WORKFLOW_REPORT_EVERY": "0.2"}
    with Workflow(tmp_path, ports, *TROUBLES, "--pods", "1", **off, **WITHOUT_A_SERVER) as fleet:
        fleet.hear(r"Pod 1: called .* without the lock .*: workflow\.lock\.enabled is false")
        assert min(fleet.sums_up()) > 0
        fleet.ends()
