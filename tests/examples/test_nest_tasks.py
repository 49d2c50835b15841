"""The example of source 002, run as a reader would run it: its workers are killed, and its Redis is away."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

import dibs
from tests.examples.fleets import Fleet, environment, one_at_a_time, words_of_the_readme
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST, Port
from tests.servers.server import Server

TASKS = {
    "hourly-task": "handle_hourly_task",
    "sync-data": "sync_data",
    "daily-cleanup": "daily_cleanup",
    "health-check": "health_check",
}
ENDLESS = "600"


def workers(folder: Path, *, take: str, **said: str) -> Fleet:
    """Three of them, with tasks that are due every second."""
    words = ("--instances", "3", "--every", "1s", "--take", take)
    return Fleet("examples.nest_tasks", *words, env=environment(folder, **said))


def redis_at(port: int) -> dict[str, str]:
    """As the document says it."""
    return {"REDIS_ENABLED": "true", "REDIS_HOST": HOST, "REDIS_PORT": str(port)}


def acquired(key: str, attempt: str = "1") -> str:
    return rf"(.*): \[DistributedLock\] Lock acquired: {key} \(attempt {attempt}\) for .*TasksService.{TASKS[key]}"


def skipped(key: str, holder: str = r"\d+") -> str:
    return (
        r".*\[DistributedLock\] Skipping execution - lock held by another instance: "
        rf"{key} \([^()]+:{holder}\) for .*TasksService.{TASKS[key]}"
    )


def who_got(fleet: Fleet, key: str) -> str:
    """The next one to have that lock."""
    return fleet.hear(acquired(key))[1]


def began(fleet: Fleet) -> list[str]:
    """Those who were heard to get the lock of the hourly task."""
    return [line for line in fleet.lines if re.fullmatch(acquired("hourly-task"), line)]


def each_ran_alone(lines: list[str]) -> bool:
    """Whether no task was at work on two workers at once, or twice for a tick; and each was done."""
    return all(
        one_at_a_time(
            lines, begins=rf"\[DistributedLock\] Lock acquired: {key} .*", ends=rf"\[TasksService\] {key} done for"
        )
        for key in TASKS
    )


def the_document_is_right(fleet: Fleet) -> None:
    """All that it shows is to be seen: who gets the lock, who skips, and who gets it at a later attempt."""
    fleet.hear(acquired("hourly-task"))
    fleet.hear(r"Worker Instance \d: \[TasksService\] Processing hourly task\.\.\.")
    fleet.hear_all({acquired("health-check", "[234]"), *(skipped(key) for key in TASKS if key != "health-check")})
    assert each_ran_alone(fleet.ends())


def test_the_command_of_the_readme_runs_each_task_on_one_worker_without_any_server(tmp_path: Path) -> None:
    with Fleet("examples.nest_tasks", *words_of_the_readme("nest_tasks"), env=environment(tmp_path)) as fleet:
        the_document_is_right(fleet)
    assert list((tmp_path / "state").rglob("dibs.sqlite")), "they share the store of this machine"


@on_valkey_9
def test_each_task_runs_on_one_worker_with_redis(server: Server, tmp_path: Path) -> None:
    with workers(tmp_path, take="1.4", **redis_at(server.port)) as fleet:
        the_document_is_right(fleet)
    assert not (tmp_path / "state").exists()


def test_a_killed_worker_s_lock_is_skipped_until_it_is_over_without_any_server(tmp_path: Path) -> None:
    with workers(tmp_path, take=ENDLESS) as fleet:
        dead = who_got(fleet, "hourly-task")
        pid = fleet.pid(dead)
        fleet.kill(dead)
        fleet.hear(skipped("hourly-task", str(pid)))
        [file] = (tmp_path / "state").rglob("dibs.sqlite")
        with dibs.connect(f"sqlite:///{file}", namespace="tasks", quiet=True) as d:
            lock = d.inspect("hourly-task").held
            assert lock is not None
            assert lock.ttl == 300
            assert lock.who.endswith(f":{pid}")
            d.force_release("hourly-task", fence=lock.fence)  # as if the five minutes were over
        assert who_got(fleet, "hourly-task") != dead
        assert len(began(fleet)) == 2


@on_valkey_9
def test_a_killed_worker_s_lock_expires_by_its_ttl_on_redis(server: Server, tmp_path: Path) -> None:
    with workers(tmp_path, take=ENDLESS, **redis_at(server.port)) as fleet:
        fleet.hear_all({acquired("hourly-task"), acquired("daily-cleanup"), acquired("health-check")})
        dead = began(fleet)[0].partition(":")[0]
        pid = str(fleet.pid(dead))
        fleet.kill(dead)
        fleet.hear(skipped("hourly-task", pid))
        assert 240 < server.ask("TTL", "tasks:hourly-task") <= 300
        assert 3540 < server.ask("TTL", "tasks:daily-cleanup") <= 3600
        assert 0 < server.ask("TTL", "tasks:health-check") <= 30
        assert len(began(fleet)) == 1
        server.ask("PEXPIRE", "tasks:hourly-task", "1")  # as if the five minutes were over
        assert who_got(fleet, "hourly-task") != dead


@pytest.mark.thorough
@on_valkey_9
def test_a_worker_that_is_paused_in_the_middle_of_a_task_keeps_its_lock(server: Server, tmp_path: Path) -> None:
    with workers(tmp_path, take="3", **redis_at(server.port)) as fleet:
        slow = who_got(fleet, "hourly-task")
        with fleet.paused(slow):
            fleet.hear(skipped("hourly-task", str(fleet.pid(slow))))
            fleet.hear(skipped("hourly-task", str(fleet.pid(slow))))
        fleet.hear(rf"{slow}: \[TasksService\] hourly-task done for .*")
        assert each_ran_alone(fleet.ends())


@pytest.mark.thorough
def test_workers_whose_redis_is_not_there_lock_for_their_own_machine(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="no redis-py on this machine")
    with (
        closing(Port()) as nobody,
        workers(tmp_path, take="1.4", **redis_at(nobody.number), DIBS_PATIENCE="2s") as fleet,
    ):
        fleet.hear(r".*'hourly-task' is locked for this machine only, as on_outage='local' says: .*")
        fleet.hear(acquired("hourly-task"))
        fleet.hear(skipped("hourly-task"))
        fleet.hear(r".*\[TasksService\] hourly-task done for .*")
        lines = fleet.ends()
    assert one_at_a_time(
        lines, begins=r"\[TasksService\] Processing hourly task\.\.\.", ends=r"\[TasksService\] hourly-task done for"
    )


def test_ctrl_c_lets_the_tasks_at_work_finish_and_ends_all_workers(tmp_path: Path) -> None:
    with workers(tmp_path, take="1.4") as fleet:
        fleet.hear_all({rf"Worker Instance {number}: \[DistributedLock\] .*" for number in (1, 2, 3)})
        who = who_got(fleet, "hourly-task")
        lines = fleet.ends(by_keyboard=True)
    assert [line for line in lines if line.startswith(f"{who}: [TasksService] hourly-task done for ")]
    assert [f"Worker Instance {number} has ended" in lines for number in (1, 2, 3)] == [True, True, True]
