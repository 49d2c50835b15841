"""The example of source 004, run as a reader would run it: killed, paused, looked at by hand, and without Redis."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.stage import LONG, ROOT
from tests.examples.fleets import Fleet, environment, one_at_a_time, words_of_the_readme
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST
from tests.servers.server import Server
from tests.stores.redis.turns import SECRET

AUTO_CLOSE, OPEN_REMINDER = "cron:store-auto-close", "cron:store-open-reminder"
BEGINS = r"Starting store auto-close cron job\.\.\."
SKIPS = r"Another server is running the store auto-close cron, skipping\."
COMPLETES = "Store auto-close cron job completed successfully"
ENDLESS = "600"


def servers(folder: Path, *, take: str, count: int = 3, **said: str) -> Fleet:
    """So many of them, with jobs that are due every second."""
    words = ("--servers", str(count), "--every", "1s", "--take", take)
    return Fleet("examples.store_cron", *words, env=environment(folder, **said))


def begins(fleet: Fleet) -> str:
    """The next server that closes stores."""
    return fleet.hear(f"(.*): {BEGINS}")[1]


def asked(folder: Path, *question: str, **said: str) -> str:
    """What is answered to one who asks from beside the servers."""
    words = [sys.executable, "-m", "examples.store_cron", *question]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=ROOT, env=environment(folder, **said), timeout=LONG, check=True
    )
    return done.stdout


def each_ran_alone(lines: list[str]) -> bool:
    """Whether both jobs were done, and neither by two servers at once, or twice for a tick."""
    reminded = one_at_a_time(lines, begins=r"Starting store open-reminder cron job\.\.\.", ends=r"Reminded [\w ,]+ for")
    return bool(one_at_a_time(lines, begins=BEGINS, ends=r"Closed [\w ,]+ for") and reminded)


def the_document_is_right(fleet: Fleet, store: str) -> None:
    """Each of its lines is to be seen, in its place."""
    states = [(server, state) for server in "123" for state in ("connected", "ready")]
    fleet.hear_all({f"Server {server}: ✅ {store} {state} for distributed locks" for server, state in states})
    first = begins(fleet)
    fleet.hear_all({f"Server [123]: {SKIPS}", f"{first}: {COMPLETES}"})
    second = begins(fleet)
    fleet.hear(f"{second}: {COMPLETES}")
    assert each_ran_alone(fleet.ends())


def test_the_command_of_the_readme_runs_each_job_on_one_server_without_redis(tmp_path: Path) -> None:
    with Fleet("examples.store_cron", *words_of_the_readme("store_cron"), env=environment(tmp_path)) as fleet:
        the_document_is_right(fleet, "Embedded store")
    assert list((tmp_path / "state").rglob("dibs.sqlite")), "they share the store of this machine"


@on_valkey_9
def test_each_job_runs_on_one_server_with_redis(server: Server, tmp_path: Path) -> None:
    with servers(tmp_path, take="1.4", REDIS_URL=server.url) as fleet:
        the_document_is_right(fleet, "Redis")
    assert server.ask("KEYS", "cron:*") == []
    assert not (tmp_path / "state").exists()


@on_valkey_9
def test_the_server_may_be_named_in_pieces_and_have_a_password(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    port = str(start_server(password=SECRET).port)
    with servers(tmp_path, take="0", REDIS_HOST=HOST, REDIS_PORT=port, REDIS_PASSWORD=SECRET) as fleet:
        fleet.hear(".*✅ Redis ready for distributed locks")
        fleet.hear(f".*{COMPLETES}")


def test_the_lock_of_a_killed_server_is_seen_and_taken_from_it_by_hand_without_redis(tmp_path: Path) -> None:
    assert asked(tmp_path, "--health") == "Auto-close job running: false\nOpen-reminder job running: false\n"
    with servers(tmp_path, take=ENDLESS) as fleet:
        dead = begins(fleet)
        fleet.kill(dead)
        fleet.hear(f"Server [123]: {SKIPS}")
        assert asked(tmp_path, "--health").startswith("Auto-close job running: true\n")
        assert said(fleet, BEGINS) == 1
        freed = asked(tmp_path, "--unlock", AUTO_CLOSE)
        assert re.fullmatch(rf"{AUTO_CLOSE} was taken from .+:{fleet.pid(dead)}\n", freed)
        assert begins(fleet) != dead
    assert asked(tmp_path, "--unlock", "cron:other") == "cron:other was free\n"


@on_valkey_9
def test_the_lock_of_a_killed_server_is_seen_and_deleted_by_the_commands_of_the_document(
    server: Server, tmp_path: Path
) -> None:
    with servers(tmp_path, take=ENDLESS, REDIS_URL=server.url) as fleet:
        fleet.hear_all({f".*: {BEGINS}", r".*: Starting store open-reminder cron job\.\.\."})
        [dead] = [line.partition(":")[0] for line in fleet.lines if re.fullmatch(f".*: {BEGINS}", line)]
        assert sorted(server.ask("KEYS", "cron:*")) == [AUTO_CLOSE, OPEN_REMINDER]
        assert 540 < server.ask("TTL", AUTO_CLOSE) <= 600
        assert 240 < server.ask("TTL", OPEN_REMINDER) <= 300
        fleet.kill(dead)
        fleet.hear(f"Server [123]: {SKIPS}")
        assert asked(tmp_path, "--health", REDIS_URL=server.url).startswith("Auto-close job running: true\n")
        assert said(fleet, BEGINS) == 1
        assert server.ask("DEL", AUTO_CLOSE) == 1
        assert begins(fleet) != dead


@on_valkey_9
def test_a_server_that_knows_only_the_key_excludes_ours(server: Server, tmp_path: Path) -> None:
    assert server.ask("SET", AUTO_CLOSE, "locked", "PX", "600000", "NX") == "OK"
    with servers(tmp_path, count=2, take=ENDLESS, REDIS_URL=server.url) as fleet:
        fleet.hear(f"Server [12]: {SKIPS}")
        fleet.hear(f"Server [12]: {SKIPS}")
        assert said(fleet, BEGINS) == 0
        assert server.ask("GET", AUTO_CLOSE) == "locked"
        server.ask("DEL", AUTO_CLOSE)
        begins(fleet)
        assert server.ask("SET", AUTO_CLOSE, "locked", "PX", "600000", "NX") is None


@pytest.mark.thorough
@on_valkey_9
def test_a_paused_server_is_not_overtaken(server: Server, tmp_path: Path) -> None:
    with servers(tmp_path, take="3", REDIS_URL=server.url) as fleet:
        slow = begins(fleet)
        with fleet.paused(slow):
            for _ in range(3):
                fleet.hear(f"Server [123]: {SKIPS}")
        fleet.hear(f"{slow}: {COMPLETES}")
        assert each_ran_alone(fleet.ends())


@pytest.mark.thorough
@on_valkey_9
def test_while_redis_is_down_the_jobs_run_on_every_server(private_server: Server, tmp_path: Path) -> None:
    at_once = {"REDIS_URL": private_server.url, "DIBS_PATIENCE": "2s"}
    with servers(tmp_path, count=2, take="0.1", **at_once) as fleet:
        begins(fleet)
        private_server.kill()
        fleet.hear(rf".*'{AUTO_CLOSE}' goes on without a lock, as on_outage='open' says: .*")
        assert any(both_closed_stores(fleet) for _ in range(60))
        private_server.start()
        fleet.hear(r".*locks come from .* again, after .*")
        fleet.hear(f".*{COMPLETES}")
        fleet.ends()


def both_closed_stores(fleet: Fleet) -> bool:
    """Whether two servers have done it for one tick, when one more has done it."""
    tick = fleet.hear(r"Server [12]: Closed [\w ,]+ for (.*)")[1]
    return sum("Closed" in line and line.endswith(tick) for line in fleet.lines) == 2


def said(fleet: Fleet, words: str) -> int:
    """How often."""
    return sum(bool(re.fullmatch(f"Server [123]: {words}", line)) for line in fleet.lines)
