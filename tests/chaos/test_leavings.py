"""Nothing is left behind: no thread, no file descriptor, no socket, no row."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import dibs
from dibs.stores.sqlite.log import LONGEST_LOG
from tests.chaos import leavings
from tests.chaos.cast import take_a_turn
from tests.chaos.stage import Stage


def rows(file: Path) -> dict[str, int]:
    db = sqlite3.connect(file)
    counted = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("lock", "queue", "bar")}  # noqa: S608
    db.close()
    return counted


def sockets(file: Path) -> set[Path]:
    return set(Path(f"{file}-wake").iterdir())


def test_a_closed_client_leaves_no_thread_and_no_file_open(stage: Stage, file: Path, url: str) -> None:
    program = stage.start(leavings.close, url)
    for _ in range(3):
        [traces] = program.hear("while open")
        assert traces
        assert program.hear("closed") == [[]]
    program.ends()
    assert not sockets(file)


def test_a_client_closed_in_the_middle_of_everything_leaves_nothing_either(stage: Stage, file: Path, url: str) -> None:
    program = stage.start(leavings.close_while_others_still_ask, url)
    assert program.hear("closed") == [[]]
    program.ends()
    assert not sockets(file)


def test_a_client_that_is_dropped_leaves_no_thread_and_no_file_open(stage: Stage, file: Path, url: str) -> None:
    program = stage.start(leavings.drop, url)
    for _ in range(3):
        assert program.hear("dropped") == [[]]
    program.ends()
    assert not sockets(file)


def test_threads_and_loops_that_have_ended_leave_nothing_behind(stage: Stage, url: str) -> None:
    program = stage.start(leavings.come_and_go, url)
    [at_first] = program.hear("at first")
    [later] = program.hear("later")
    assert len(later) <= len(at_first)
    program.ends()


def test_what_the_dead_have_left_is_cleared_away(stage: Stage, file: Path, url: str) -> None:
    programs = [stage.start(leavings.leave_without_a_word, url) for _ in range(3)]
    for program in programs:
        program.hear("in")
    for program in programs:
        program.kill()
    assert len(sockets(file)) >= 3
    for socket in sockets(file):
        os.utime(socket, (0, 0))  # it was long ago
    assert rows(file)["lock"] >= 3
    with dibs.connect(url, quiet=True) as d:
        for program in programs:  # when their TTL is over
            d.lock(f"held by {program.pid}", wait=10).acquire().release()
        assert not d.locks()
    newcomer = stage.start(take_a_turn, "blocking", url, "b", 30)
    newcomer.hear("in")
    assert len(sockets(file)) <= 2  # its own
    newcomer.tell("release")
    newcomer.ends()
    assert rows(file) == {"lock": 0, "queue": 0, "bar": 0}
    assert not sockets(file)


def test_a_store_stays_sound_when_programs_are_killed_at_any_moment(stage: Stage, file: Path, url: str) -> None:
    program = stage.start(leavings.be_killed_at_work, url, 40)
    assert program.hear("killed") == [40]
    program.ends()
    with dibs.connect(url, quiet=True) as d:
        for number in range(40):
            d.lock(f"lock {number}", wait=5).acquire().release()
        assert not d.locks()
    db = sqlite3.connect(file)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


@pytest.mark.thorough
def test_the_log_stays_short_however_many_programs_come_and_go(stage: Stage, file: Path, url: str) -> None:
    """Beside one that stays, so that nobody ever closes the file as the last."""
    with dibs.connect(url, quiet=True) as d, d.lock("stays"):
        program = stage.start(leavings.come_for_a_moment, url, 200, 50)
        assert program.hear("came") == [200]
        program.ends()
        assert Path(f"{file}-wal").stat().st_size < LONGEST_LOG


@pytest.mark.thorough
def test_the_log_stays_short_however_long_many_write_without_a_pause(stage: Stage, file: Path, url: str) -> None:
    """There is no moment then in which all of it is home, unless somebody keeps the others waiting."""
    with dibs.connect(url, quiet=True) as d, d.lock("stays"):
        programs = [stage.start(leavings.take_without_a_pause, url, f"{file}-wal", 3_000) for _ in range(4)]
        for program in programs:
            program.tell("go")
        for program in programs:
            [longest] = program.hear("longest log")
            assert longest < 1.5 * LONGEST_LOG
            program.ends()


LOST = """
import dibs
d = dibs.connect({url!r}, quiet=True)
lease = d.lock("a").acquire()
d.force_release("a", fence=lease.fence)
assert lease.lost
d.close()
"""


@pytest.mark.parametrize("store", ["memory://", "sqlite"])
def test_a_program_ends_though_it_never_let_go_of_a_lost_lease(url: str, store: str) -> None:
    script = LOST.format(url=url if store == "sqlite" else store)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=5)
