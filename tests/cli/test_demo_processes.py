"""The processes of a demo: none is left behind, and what is done to them from outside does not spoil the verdict."""

import os
import re
import select
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

import dibs
from tests.cli.audience import GOOD, PATIENCE, demo, see

BREAK_THE_LOCK = """
import os, dibs.client
lock = dibs.client.Dibs.lock
dibs.client.Dibs.lock = lambda client, name, **options: lock(client, f"{name}:{os.getpid()}", **options)
"""
BREAK_A_WORKER = """
import dibs.cli.demo.ledger

def write(ledger, worker, *turn, **trust):
    raise RuntimeError("the pen is dry")

dibs.cli.demo.ledger.Ledger.write = write
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.thorough)])
def test_a_demo_that_is_ended_gives_its_verdict_and_leaves_nothing_behind(number: signal.Signals, folder: Path) -> None:
    with demo(TMPDIR=str(folder)) as audience:
        audience.read_until("hand-overs/s")
        assert len(list(folder.iterdir())) == 1
        audience.process.send_signal(number)
        assert GOOD.search(audience.read_rest())
        assert (audience.process.returncode, audience.complaints()) == (0, "")
    assert list(folder.iterdir()) == []


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no pidfd_open, to wait for processes that are not ours")
def test_no_worker_outlives_a_primary_that_was_killed_not_even_one_that_is_paused(folder: Path) -> None:
    with demo(TMPDIR=str(folder)) as audience, ExitStack() as open_files:
        audience.read_until(r"worker-\d paused, holding")
        pids = audience.pids()
        assert len(pids) == 4
        workers = {os.pidfd_open(pid) for pid in pids.values()}
        for worker in workers:
            open_files.callback(os.close, worker)
        audience.process.kill()
        while workers:
            ended, _, _ = select.select(list(workers), [], [], PATIENCE)
            assert ended, "some worker lives on"
            workers -= set(ended)


def test_a_worker_that_somebody_else_kills_is_started_again_and_that_is_no_overlap() -> None:
    with demo() as audience:
        audience.read_until(r"worker-4 .*is process \d+")  # well before the demo strikes one of them itself
        os.kill(audience.pids()["worker-1"], signal.SIGKILL)
        audience.read_until(r"worker-1 was killed by somebody else; starts again as process \d+")
        audience.read_until("hand-overs/s")
        audience.process.send_signal(signal.SIGINT)
        assert GOOD.search(audience.read_rest())
        assert audience.process.returncode == 0


@pytest.mark.thorough
def test_a_demo_that_was_stopped_for_longer_than_the_ttl_goes_on_and_finds_no_overlap() -> None:
    with demo() as audience:
        audience.read_until("hand-overs/s")
        audience.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(audience.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        wait_for_a_lease_to_end(ttl=1.5)
        audience.process.send_signal(signal.SIGCONT)
        audience.read_until("hand-overs/s")
        audience.process.send_signal(signal.SIGINT)
        rest = audience.read_rest()
        assert audience.process.returncode == 0, rest
    assert GOOD.search(rest)
    assert re.search(r"0 twice, 0 missed \(and [1-9]\d* slept through\)", rest)


def wait_for_a_lease_to_end(*, ttl: float) -> None:
    """One as old as those of the workers that were stopped just before."""
    with dibs.connect("memory://", quiet=True) as client:
        stopped = client.lock("stopped", ttl=ttl, renew=False).acquire()
        heir = client.lock("stopped", wait=PATIENCE).acquire()
        assert stopped.fence < heir.fence


def test_a_lock_that_lets_two_in_is_found_out(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(BREAK_THE_LOCK)
    done = see("--seconds", "2", PYTHONPATH=str(folder))
    assert done.returncode == 1
    assert "leases that stood at the same time as another" in done.stdout
    assert re.search(r"^stale writes refused +[1-9]", done.stdout, re.MULTILINE), (
        "the fences save what the lock did not"
    )
    assert re.search(r"^once-a-second job +\d+ due, \d+ done, 0 twice", done.stdout, re.MULTILINE)
    assert not GOOD.search(done.stdout)


def test_a_worker_that_fails_is_told_of_in_one_line(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(BREAK_A_WORKER)
    done = see("--seconds", "20", PYTHONPATH=str(folder))
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^  worker-\d failed: .*the pen is dry", done.stdout, re.MULTILINE)
    assert not GOOD.search(done.stdout)
