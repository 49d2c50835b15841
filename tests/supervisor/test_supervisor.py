"""Workers that die, are killed, hang, end, or never come up: who is started again, and who is told."""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dibs.errors import ConfigError
from dibs.events import (
    WorkerDied,
    WorkerEnded,
    WorkerNotUp,
    WorkerReady,
    WorkerRestarting,
    WorkerSilent,
    WorkersRolling,
    WorkerStarted,
)
from dibs.model.restarts import TRIES, Patience
from dibs.runtime.supervisor import Program, Supervisor
from dibs.runtime.supervisor.lifeline import Lifeline
from dibs.runtime.supervisor.post import Post
from tests.servers.ports import HOST
from tests.supervisor.primaries import Watched, ask, ports

SOON = 1.0
"""Until it is started again. How long its imports take then depends on what else this machine does just now."""
PROGRAM = "import dibs; d = dibs.connect('memory://', quiet=True); d.job(name='tidy')(lambda: None)"


@pytest.fixture
def port() -> Iterator[int]:
    with ports(3) as before:
        yield before


def test_one_that_cannot_be_started_again_leaves_the_others_alone_and_is_tried_again(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = Post.start, list[int]()

    def starve(post: Post, now: float) -> Lifeline:
        if post.past.was_ever_up and len(refused) < 2:
            refused.append(post.number)
            raise OSError(errno.EMFILE, "Too many open files")
        return start(post, now)

    with Watched(2, port) as watched:
        before = {ready.worker: ready.pid for ready in watched.diary.wait_for(WorkerReady, 2)}
        monkeypatch.setattr(Post, "start", starve)
        os.kill(before[1], signal.SIGKILL)
        assert watched.diary.wait_for(WorkerReady, 3)[-1].worker == 1
        died = [(event.worker, event.pid) for event in watched.diary.of(WorkerDied)]
        assert died == [(1, before[1]), (1, 0), (1, 0)]
        assert watched.diary.of(WorkerDied)[1].how == "it could not be started: Too many open files"
        assert ask(port + 2, "/status")[1]["processId"] == before[2]


def test_a_killed_worker_is_back_under_its_number_and_on_its_port(port: int) -> None:
    with Watched(2, port) as watched:
        before = {ready.worker: ready for ready in watched.diary.wait_for(WorkerReady, 2)}
        assert {number: ready.port for number, ready in before.items()} == {1: port + 1, 2: port + 2}
        os.kill(before[2].pid, signal.SIGKILL)
        killed_at = time.monotonic()
        watched.diary.wait_for(WorkerStarted, 3)
        assert time.monotonic() - killed_at < SOON
        again = watched.diary.wait_for(WorkerReady, 3)[-1]
        assert (again.worker, again.port) == (2, port + 2)
        status, told = ask(port + 2, "/status")
        assert (status, told["workerId"], told["processId"]) == (200, 2, again.pid)
        assert ask(port + 1, "/status")[1]["processId"] == before[1].pid
        assert [died.how for died in watched.diary.of(WorkerDied)] == ["ended by SIGKILL"]


def test_a_silent_worker_is_killed_and_started_again() -> None:
    with Watched(1, patience=Patience(silent_after=1.5)) as watched:
        [ready] = watched.diary.wait_for(WorkerReady, 1)
        os.kill(ready.pid, signal.SIGSTOP)
        assert watched.diary.wait_for(WorkerReady, 2)[-1].worker == 1
        [silent] = watched.diary.of(WorkerSilent)
        assert silent.pid == ready.pid
        assert silent.why.startswith("silent for ")
        [died] = watched.diary.of(WorkerDied)
        assert died.how == f"killed, as it was {silent.why}"


@pytest.mark.thorough
def test_a_worker_that_is_not_ready_in_time_is_killed_too() -> None:
    with Watched(1, patience=Patience(start_within=0.01)) as watched:
        assert watched.diary.wait_for(WorkerDied, 1)[0].how.startswith("killed, as it was not ready after ")


def test_who_ends_by_itself_is_not_started_again_and_the_primary_ends_with_the_last(port: int) -> None:
    with Watched(2, port) as watched:
        watched.diary.wait_for(WorkerReady, 2)
        assert ask(port + 1, "/leave", "POST") == (200, {})
        assert [ended.worker for ended in watched.diary.wait_for(WorkerEnded, 1)] == [1]
        assert ask(port + 2, "/leave", "POST") == (200, {})
        assert watched.join() == 0
        assert len(watched.diary.of(WorkerStarted)) == 2


@pytest.mark.thorough
def test_a_worker_that_never_comes_up_is_tried_with_pauses_and_told_of_with_the_reason() -> None:
    with Watched(1, target="tests.supervisor.never_up:d") as watched:
        assert watched.join() == 1
        diary = watched.diary
        assert diary.of(WorkerNotUp) == [WorkerNotUp(1, TRIES, "exit code 3")]
        assert [restarting.pause for restarting in diary.of(WorkerRestarting)] == [0.1, 0.2, 0.4, 0.8]


@pytest.mark.thorough
def test_a_taken_port_is_told_and_tried_again_until_it_is_free(port: int) -> None:
    with socket.create_server((HOST, port + 1)) as other, Watched(1, port) as watched:
        [died] = watched.diary.wait_for(WorkerDied, 1)
        assert died.how == (
            f"port {port + 1} on {HOST} is taken: another program listens there. End it, or choose another with --port"
        )
        other.close()
        assert watched.diary.wait_for(WorkerReady, 1)[0].port == port + 1


@pytest.mark.thorough
def test_workers_are_rolled_one_after_the_other(port: int) -> None:
    with Watched(2, port) as watched:
        diary = watched.diary
        before = [ready.pid for ready in diary.wait_for(WorkerReady, 2)]
        watched.supervisor.roll()
        after = [ready.pid for ready in diary.wait_for(WorkerReady, 4)[2:]]
        assert not set(before) & set(after)
        assert not diary.of(WorkerDied)
        begun = diary.events.index(diary.of(WorkersRolling)[0])
        story = [(type(event), event.worker) for event in diary.events[begun + 1 :]]  # type: ignore[union-attr]
        assert story == [(kind, worker) for worker in (1, 2) for kind in (WorkerEnded, WorkerStarted, WorkerReady)]


@pytest.mark.thorough
def test_a_roll_to_code_that_is_broken_leaves_the_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "rolled_program.py"
    program.write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    with Watched(2, target="rolled_program:d") as watched:
        diary = watched.diary
        diary.wait_for(WorkerReady, 2)
        program.write_text(f"{PROGRAM} (")
        watched.supervisor.roll()
        assert "'rolled_program' cannot be imported" in diary.wait_for(WorkerDied, 2)[0].how
        assert {ended.worker for ended in diary.of(WorkerEnded)} == {1}
        program.write_text(f"{PROGRAM}  # mended")
        assert [ready.worker for ready in diary.wait_for(WorkerReady, 4)[2:]] == [1, 2]


@pytest.mark.thorough
def test_what_makes_no_sense_is_told_once_and_not_tried_again() -> None:
    program = Program(target="tests.supervisor.shop:nothing", host=HOST, port=None, app=None, grace=5.0)
    told: list[object] = []
    with pytest.raises(ConfigError, match=r"'tests.supervisor.shop' has no 'nothing'"):
        Supervisor(program, 2, tell=told.append).run()
    assert not [event for event in told if isinstance(event, WorkerRestarting)]


@pytest.mark.thorough
def test_who_is_told_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: object) -> None:
        raise LookupError

    program = Program(target="tests.supervisor.shop:nothing", host=HOST, port=None, app=None, grace=5.0)
    with pytest.raises(ConfigError):
        Supervisor(program, 1, tell=fail).run()
    assert "who was told of WorkerStarted" in caplog.text
