"""Runs in processes of their own: found by name, heard while they work, and killed when they are to stop."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs import ConfigError, Job
from dibs.flows.duty import TAKEN, TIMEOUT, Underway
from dibs.jobs.apart import performer
from dibs.model.job import Run as Begun
from dibs.model.job import Terms
from dibs.model.rota import SHUT_DOWN, Ending
from dibs.model.tenure import Tenure
from dibs.runtime.clock import boottime
from tests.chaos.stage import LONG, Stage
from tests.client import apart_jobs


def underway(name: str, *, timeout: float | None = None) -> Underway:
    now = boottime()
    run = Begun(1_800_000_000.0, attempt=2, owner="me", node="here", fence=77, started_at=1.0)
    return Underway(name, run, Terms(timeout=timeout), Tenure(30.0, now), begun_at=now)


def performed(job: Job[Any], mine: Underway | None = None) -> Ending | None:
    return performer(job)(mine or underway(job.name))


def test_a_run_is_done_in_a_process_of_its_own_and_tells_what_it_does() -> None:
    mine = underway("works")
    ending = performed(apart_jobs.works, mine)
    assert ending is not None
    assert ending.outcome == "ok"
    assert ending.result is not None
    assert f'"pid":{os.getpid()}' not in ending.result
    assert '"fence":77,"attempt":2,"tick":"2027-01-15T09:00:00+01:00"' in ending.result
    assert [line.partition(" ")[2] for line in ending.log] == ["INFO from afar"]
    assert (mine.progress, mine.note) == (0.5, "half")


@pytest.mark.parametrize(
    ("job", "outcome", "reason"),
    [
        (apart_jobs.fails, "failed", "ValueError: no stock"),
        (apart_jobs.exits, "failed", "SystemExit: enough"),
        (apart_jobs.dies, "failed", "its process ended with exit code 3, before it was done"),
        (apart_jobs.skips, "skipped", "already done"),
    ],
)
def test_what_came_of_it_is_told(job: Job[Any], outcome: str, reason: str) -> None:
    ending = performed(job)
    assert ending is not None
    assert (ending.outcome, ending.reason) == (outcome, reason)


@pytest.mark.parametrize("why", [TIMEOUT, TAKEN, SHUT_DOWN, "another tick came"])
def test_who_is_to_stop_is_killed(why: str) -> None:
    mine = Heard("hangs")
    endings: list[Ending | None] = []
    thread = threading.Thread(target=lambda: endings.append(performed(apart_jobs.hangs, mine)))
    thread.start()
    assert mine.progressed.wait(LONG)
    mine.forsake(why) if why == TAKEN else mine.ask_to_stop(why)
    thread.join(LONG)
    outcomes = {TIMEOUT: "timeout", TAKEN: "lost", "another tick came": "cancelled"}
    [ending] = endings
    assert (ending.outcome if ending else None) == outcomes.get(why)
    assert ending is None or ending.log[0].endswith("INFO begun")


class Heard(Underway):
    """Says when its run has told of its progress."""

    def __init__(self, name: str) -> None:
        self.progressed = threading.Event()
        now = boottime()
        super().__init__(name, underway(name).run, Terms(timeout=2.0), Tenure(30.0, now), begun_at=now)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "progress" and value is not None:
            self.progressed.set()


def test_who_was_stopped_before_it_began_is_killed_as_well() -> None:
    mine = underway("hangs")
    mine.ask_to_stop("another tick came")
    ending = performed(apart_jobs.hangs, mine)
    assert ending is not None
    assert ending.outcome == "cancelled"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield Path(folder)


def test_a_killed_node_takes_the_processes_of_its_runs_with_it(folder: Path) -> None:
    url = f"sqlite:///{folder}/jobs.sqlite"
    with Stage() as stage:
        node = stage.start(apart_jobs.serve_one, "lasts", env={**os.environ, "APART_URL": url})
        [pid] = node.hear("lasts")
        handle = os.pidfd_open(pid)
        try:
            node.kill()
            ended, _, _ = select.select([handle], [], [], LONG)
            assert ended, "the run goes on without its node"
        finally:
            os.close(handle)


def test_a_program_can_define_and_serve_them_in_one_file(folder: Path) -> None:
    program = folder / "app.py"
    program.write_text(
        "import dibs, os\n"
        "class Stops:\n"
        "    def on(self, event):\n"
        "        if type(event).__name__ == 'RunEnded':\n"
        "            print(event.outcome, event.reason)\n"
        "            d.stop_serving()\n"
        "d = dibs.connect('memory://', observers=[Stops()], quiet=True)\n"
        "@d.every('1s', process=True)\n"
        "def job() -> int:\n"
        "    return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    d.serve()\n"
        "    print(job.history()[-1].result != os.getpid())\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", program], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines()[0] == "ok "
    assert done.stdout.splitlines()[-1] == "True"
    program.write_text(program.read_text().replace("if __name__ == '__main__':", "if True:"))
    done = subprocess.run([sys.executable, "-W", "error", program], capture_output=True, text=True, check=False)
    assert "serve under `if __name__ == '__main__'`" in done.stderr
    assert "failed its process ended with exit code 1" in done.stdout


INTERRUPTED = """
import os, signal, sys, dibs
from multiprocessing.context import SpawnProcess
from unittest.mock import patch

def interrupt_at(moment):
    if moment in sys.argv:
        os.killpg(0, signal.Signals[sys.argv[2]])  # the node, its runs, and whoever else it has started

def start_and_interrupt(process, start=SpawnProcess.start):
    start(process)
    interrupt_at("made")

d = dibs.connect("memory://", quiet=True)

@d.every("1s", process=True)
def job() -> bool:
    return signal.Signals[sys.argv[2]] in signal.pthread_sigmask(signal.SIG_BLOCK, ())

if __name__ == "__mp_main__":
    interrupt_at("loading")
if __name__ == "__main__":
    with patch.object(SpawnProcess, "start", start_and_interrupt):
        d.serve()
    for run in [run for run in job.history() if run.started_at]:  # on a slow machine further ticks may have come
        print(run.outcome, run.reason, run.result)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("moment", ["made", "loading"])
def test_a_signal_to_all_lets_a_run_finish_whose_process_has_yet_to_begin(
    folder: Path, moment: str, number: signal.Signals
) -> None:
    program = folder / "app.py"
    program.write_text(INTERRUPTED)
    command = [sys.executable, "-W", "error", str(program), moment, number.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG, start_new_session=True)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == ["ok  False"]


def test_what_a_new_process_could_not_find_is_refused() -> None:
    async def later() -> None: ...

    def local() -> None: ...

    class Shop:
        def close(self) -> None: ...

    with dibs.connect("memory://", quiet=True) as d:
        for function, fault in [
            (later, "write a plain def"),
            (local, "define it with def at the top of a module"),
            (lambda: None, "define it with def at the top of a module"),
            (_method(Shop), "write a function at the top of a module"),
        ]:
            with pytest.raises(ConfigError, match=fault):
                d.every("1s", name="job", process=True)(function)
        d.every("1s", name="job", process=True)(at_the_top)
        with pytest.raises(ConfigError, match="a new process must find it by its name"):
            d.serve()


def at_the_top() -> None:
    """Its job is not what a new process would find here."""


def _method(shop: type) -> Any:
    function: Any = vars(shop)["close"]
    function.__qualname__ = "Shop.close"
    return function


def test_typed_in_functions_cannot_be_found_either() -> None:
    script = (
        "import dibs\n"
        "d = dibs.connect('memory://', quiet=True)\n"
        "def job(): pass\n"
        "try:\n"
        "    d.every('1s', process=True)(job)\n"
        "except dibs.ConfigError as fault:\n"
        "    print(fault)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "put it into a file" in done.stdout
