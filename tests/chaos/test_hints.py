"""Hints that cannot be delivered: they cost time, never the lock."""

from __future__ import annotations

import shutil
import socket
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

from dibs import ClientClosed, Dibs
from dibs.events import JoinedQueue
from dibs.runtime.clock import boottime
from dibs.testing.contract import Diary
from tests.chaos.cast import take_a_turn
from tests.chaos.colours import BOTH
from tests.chaos.crowds import wait_as_a_crowd
from tests.chaos.stage import Stage

TTL = LATE = 1.0
CROWD = 50
"""Many more than a mailbox takes."""


@pytest.mark.parametrize("kind", BOTH)
def test_a_program_that_cannot_be_told_for_a_moment_is_told_later(stage: Stage, url: str, d: Dibs, kind: str) -> None:
    mine = [d.lock(f"lock {number}", ttl=60).acquire() for number in range(CROWD)]
    crowd = stage.start(wait_as_a_crowd, kind, url, CROWD, 60)
    crowd.hear("all wait")
    crowd.stop()
    for lease in mine:
        lease.release()
    crowd.go_on()
    crowd.hear("all in", within=10)  # long before any of them would ask by itself
    crowd.tell("end")
    crowd.ends()


@pytest.mark.parametrize("kind", BOTH)
def test_a_program_that_cannot_be_told_for_long_finds_out_by_itself(stage: Stage, url: str, d: Dibs, kind: str) -> None:
    ttl = 3.0
    mine = [d.lock(f"lock {number}", ttl=60).acquire() for number in range(CROWD)]
    crowd = stage.start(wait_as_a_crowd, kind, url, CROWD, ttl)
    crowd.hear("all wait")
    crowd.stop()
    for lease in mine:
        lease.release()
    for bell in [thread for thread in threading.enumerate() if thread.name == "dibs-bell"]:
        bell.join(2.5)  # it gives some of them up
    crowd.go_on()
    went_on_at = boottime()
    [in_at] = crowd.hear("all in")
    assert in_at < went_on_at + ttl + 1
    crowd.tell("end")
    crowd.ends()


@pytest.mark.parametrize("kind", BOTH)
def test_waiters_whose_sockets_were_deleted_get_in_at_the_known_expiry(
    stage: Stage, file: Path, url: str, d: Dibs, kind: str
) -> None:
    mine = d.lock("a", ttl=TTL).acquire()
    waiter = stage.start(take_a_turn, kind, url, "a", 30)
    waiter.hear("waits")
    shutil.rmtree(f"{file}-wake")
    mine.release()
    released_at = boottime()
    [_, in_at] = waiter.hear("in")
    assert in_at < released_at + TTL + LATE


def test_threads_whose_sockets_were_deleted_can_still_be_woken_up(file: Path, d: Dibs, diary: Diary) -> None:
    told = SimpleQueue[BaseException]()
    mine = d.lock("a", ttl=60).acquire()

    def wait() -> None:
        try:
            d.lock("a", ttl=60).acquire()
        except ClientClosed as closed:
            told.put(closed)

    waiter = threading.Thread(target=wait)
    waiter.start()
    diary.wait_for(JoinedQueue, 1)
    shutil.rmtree(f"{file}-wake")
    d.close()
    assert "closed" in str(told.get(timeout=10))
    waiter.join()
    assert mine.lost


def test_what_is_no_hint_harms_nobody(stage: Stage, file: Path, url: str, d: Dibs) -> None:
    mine = d.lock("a", ttl=60).acquire()
    waiters = []
    for kind in BOTH:
        waiters.append(stage.start(take_a_turn, kind, url, "a", 60))
        waiters[-1].hear("waits")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for box in Path(f"{file}-wake").iterdir():
            for data in (b"?", b"nonsense", b"handed nobody 1 1.0", b"\xff" * 2000, b""):
                stranger.sendto(data, str(box))
    mine.release()
    for waiter in waiters:
        waiter.hear("in", within=10)
        waiter.tell("release")
        waiter.hear("out")
        waiter.ends()
