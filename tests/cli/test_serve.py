"""`dibs serve` as people meet it: what it refuses, what it tells, and what signals do to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import dibs
from dibs.cli import main
from tests.servers.ports import HOST
from tests.supervisor.fifo import Fifo
from tests.supervisor.primaries import LONG, ROOT, SHOP, Serve, ask, ports

A_WHILE = 0.5
"""One that is to hurry would be gone by then."""
LONG_WORK, LONG_TASK = "tests.supervisor.long_work:d", "tests.supervisor.long_task"


def run(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dibs", "serve", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=LONG)


@pytest.fixture
def port() -> Iterator[int]:
    with ports(3) as before:
        yield before


class Job:
    """A run that has begun tells so, and ends when it is let."""

    def __init__(self, folder: Path) -> None:
        self.env = {"SHOP_FOLDER": str(folder), "SHOP_URL": f"sqlite:///{folder / 'jobs.sqlite'}"}
        self.begun, self.go = Fifo(folder / "begun"), Fifo(folder / "go")

    def outcomes(self) -> list[str]:
        with dibs.connect(self.env["SHOP_URL"], quiet=True) as d:
            return [run.outcome for run in d.runs("work")]


@pytest.fixture
def job(folder: Path) -> Iterator[Job]:
    job = Job(folder)
    with closing(job.begun), closing(job.go):
        yield job


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--port", "70000"], "argument --port: '70000' is not a whole number from 1 to 65535"),
        (["--port", "0"], "argument --port: '0' is not"),
        (["--port", "65534", "--workers", "2"], "worker 2 would listen beyond the last port, 65535"),
        (["--workers", "0"], "argument --workers: '0' is not a whole number from 1 to 1000"),
        (["--workers", "two"], "argument --workers: 'two' is not"),
        (["--grace", "-1s"], "expected one argument"),
        (["--grace", "soon"], "argument --grace: 'soon' is not a duration"),
        (["--app", "shop:app"], "--app needs a --port to be served on"),
        (["--app", "shop", "--port", "3000"], "argument --app: 'shop': name a module and what is in it"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_line_that_makes_no_sense_is_a_usage_error(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", SHOP, *words])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert told.err.startswith("usage: ")
    assert complaint in told.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere:d"], "nowhere:d: no module 'nowhere' is found in "),
        (["tests.nowhere.shop:d"], "no module 'tests.nowhere' is found in "),
        (["tests.supervisor.shop:nobody"], "the module 'tests.supervisor.shop' has no 'nobody'"),
        (["tests.supervisor.shop:FOLDER"], "tests.supervisor.shop:FOLDER is no client, but of type str: name what "),
        ([SHOP, "--app", "tests.supervisor.shop:no_app"], "tests.supervisor.shop:no_app is no application, but of "),
        ([SHOP, "--host", "nowhere.invalid"], "host='nowhere.invalid': "),
        (["tests.supervisor.unlucky:d"], "'tests.supervisor.unlucky' needs a module that is not there: No module "),
        (["tests.supervisor.idle:d"], "there is nothing to serve"),
    ],
    ids=["no module", "no package", "no attribute", "no client", "no application", "no host", "no import", "no job"],
)
def test_what_cannot_be_served_is_told(
    port: int, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [] if "idle" in words[0] else ["--port", str(port + 1)]
    assert main(["serve", *words, *where, "--quiet"]) == 78
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("dibs: ")
    assert complaint in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tests.supervisor.unextra:d"], "dibs.web.app needs starlette and uvicorn: pip install 'dibs-lock[web]'"),
        pytest.param(
            ["tests.supervisor.unextra:d", "--app", "tests.supervisor.unextra:app"],
            "HTTP needs starlette and uvicorn: pip install 'dibs-lock[web]'",
            marks=pytest.mark.thorough,
        ),
        (["nowhere:d", "--workers", "2"], "nowhere:d: no module 'nowhere' is found in "),
    ],
    ids=["no extra", "no extra for an application", "told by a worker"],
)
def test_what_cannot_be_served_is_told_without_a_traceback(port: int, words: list[str], complaint: str) -> None:
    done = run(*words, "--port", str(port + 1), "--quiet")
    assert (done.returncode, done.stdout) == (78, "")
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("dibs: ")
    assert complaint in last


@pytest.mark.thorough
def test_a_taken_port_is_told(port: int) -> None:
    with socket.create_server((HOST, port + 1)):
        done = run(SHOP, "--port", str(port + 1))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"dibs: port {port + 1} on {HOST} is taken: another program listens there. "
        "End it, or choose another with --port\n"
    )


def test_a_process_alone_serves_its_own_port_and_drains(port: int) -> None:
    with Serve(SHOP, "--port", str(port + 1), "--app", "tests.supervisor.shop:app") as serve:
        serve.hear("dibs: serves 'tidy'")
        status, told = ask(port + 1, "/status")
        assert (status, told["workerId"], told["processId"]) == (200, 0, serve.pid)
        serve.signal(signal.SIGTERM)
        assert serve.wait() == 0


@pytest.mark.thorough
def test_a_client_without_jobs_is_served_by_http_alone(port: int) -> None:
    with Serve("tests.supervisor.idle:d", "--workers", "1", "--port", str(port)) as serve:
        serve.ready(1)
        assert ask(port + 1, "/health")[0] == 200
        serve.signal(signal.SIGTERM)
        assert serve.wait() == 0


@pytest.mark.thorough
def test_an_application_may_serve_the_jobs_itself(port: int) -> None:
    with Serve(SHOP, "--port", str(port + 1), "--app", "tests.supervisor.shop:own_app") as serve:
        serve.hear("serves 'tidy'")
        assert ask(port + 1, "/status")[0] == 200
        serve.signal(signal.SIGTERM)
        serve.hear("serves no more")
        assert serve.wait() == 0


def test_an_application_that_serves_the_jobs_itself_lets_the_run_in_hand_finish(job: Job, port: int) -> None:
    words = (f"{LONG_TASK}:d", "--port", str(port + 1), "--app", f"{LONG_TASK}:app")
    with Serve(*words, env=job.env) as serve:
        job.begun.wait()
        serve.signal(signal.SIGTERM)
        while ask(port + 1, "/status")[1]["status"] != "draining":
            serve.refuse_to_wait_for_ever()
        goes_on_until = time.monotonic() + A_WHILE
        while time.monotonic() < goes_on_until:
            assert ask(port + 1, "/health/ready")[0] == 503, "it answers all the while"
        job.go.say()
        assert serve.wait() == 0
    assert "ok" in job.outcomes()


@pytest.mark.thorough
def test_its_grace_is_that_of_the_command(job: Job, port: int) -> None:
    words = (f"{LONG_TASK}:d", "--port", str(port + 1), "--app", f"{LONG_TASK}:app", "--grace", "100ms")
    with Serve(*words, env=job.env) as serve:
        job.begun.wait()
        serve.signal(signal.SIGTERM)
        assert serve.wait() == 0
    assert "ok" not in job.outcomes()


@pytest.mark.thorough
def test_an_application_that_does_not_start_is_told(port: int) -> None:
    done = run(SHOP, "--port", str(port + 1), "--app", "tests.supervisor.shop:no_start")
    assert done.returncode == 1
    assert "LookupError: the till is locked" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("dibs: the application did not start: its lifespan failed")


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)],
    ids=lambda number: number.name,
)
def test_a_signal_lets_the_run_in_hand_finish(job: Job, port: int, number: signal.Signals) -> None:
    with Serve(LONG_WORK, "--workers", "1", "--port", str(port), env=job.env) as serve:
        serve.ready(1)
        job.begun.wait()
        serve.signal(number)
        serve.hear(rf"all workers are to finish what they have, and end \({number.name}\)")
        while ask(port + 1, "/status")[1]["status"] != "draining":
            serve.refuse_to_wait_for_ever()
        assert ask(port + 1, "/health/ready")[0] == 503
        job.go.say()
        serve.hear("worker 1 .* has ended")
        assert serve.wait() == 0
    assert "ok" in job.outcomes()


@pytest.mark.thorough
def test_a_second_signal_ends_it_at_once(job: Job) -> None:
    with Serve(LONG_WORK, "--workers", "1", "--grace", "10m", env=job.env) as serve:
        serve.ready(1)
        job.begun.wait()
        serve.signal(signal.SIGTERM)
        serve.hear("all workers are to finish what they have")
        serve.signal(signal.SIGINT)
        serve.hear("all workers are to end at once")
        assert serve.wait() == 0
    assert "ok" not in job.outcomes()


def test_a_signal_that_was_passed_on_as_well_is_one(job: Job) -> None:
    with Serve(LONG_WORK, "--workers", "1", env=job.env) as serve:
        serve.ready(1)
        job.begun.wait()
        for _ in range(2):
            serve.signal(signal.SIGINT)
        serve.hear("all workers are to finish what they have")
        job.go.say()
        assert serve.wait() == 0
        assert "at once" not in serve.seen
    assert "ok" in job.outcomes()


def test_workers_finish_and_leave_when_their_primary_is_killed(job: Job) -> None:
    with Serve(LONG_WORK, "--workers", "1", env=job.env) as serve:
        serve.ready(1)
        job.begun.wait()
        os.kill(serve.pid, signal.SIGKILL)
        serve.hear("the primary of worker 1 is gone: it finishes what it has, and ends")
        job.go.say()
        serve.hear_the_rest()  # which has an end only if the worker has one
    assert "ok" in job.outcomes()


@pytest.mark.thorough
def test_sighup_starts_the_workers_anew(port: int) -> None:
    with Serve(SHOP, "--workers", "1", "--port", str(port)) as serve:
        before = serve.ready(1)
        serve.signal(signal.SIGHUP)
        serve.hear("starts workers 1 anew")
        after = serve.ready(1)
        assert ask(port + 1, "/status")[1]["processId"] == after != before
        serve.signal(signal.SIGTERM)
        assert serve.wait() == 0


@pytest.mark.thorough
def test_sighup_of_a_terminal_that_was_closed_ends_it() -> None:
    master, slave = os.openpty()
    with Serve(SHOP, "--workers", "1", stdin=slave) as serve:
        os.close(slave)
        serve.ready(1)
        os.close(master)
        serve.signal(signal.SIGHUP)
        serve.hear(r"all workers are to finish what they have, and end \(SIGHUP\)")
        assert serve.wait() == 0


@pytest.mark.thorough
def test_a_request_that_never_ends_does_not_keep_a_worker_for_ever(port: int, folder: Path) -> None:
    words = ["--workers", "1", "--port", str(port), "--app", "tests.supervisor.shop:app", "--grace", "0.5s"]
    env = {"SHOP_FOLDER": str(folder)}
    with closing(Fifo(folder / "hangs")) as hangs, Serve(SHOP, *words, env=env) as serve:
        serve.ready(1)
        with socket.create_connection((HOST, port + 1)) as line:
            line.sendall(b"GET /hang HTTP/1.1\r\nHost: shop\r\n\r\n")
            hangs.wait()
            serve.signal(signal.SIGTERM)
            serve.hear("worker 1 .* has ended")
            assert serve.wait() == 0
