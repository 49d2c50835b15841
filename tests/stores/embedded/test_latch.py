"""Lock files within one process, and across a fork."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_EX, LOCK_SH
from pathlib import Path

import pytest

from dibs.stores.embedded.latch import Latch
from tests.chaos.children import descriptors, ended_well, in_a_fork
from tests.chaos.moments import LONG, so


def test_a_latch_is_shared_or_had_alone(tmp_path: Path) -> None:
    with Latch(tmp_path / "a") as one, Latch(tmp_path / "a") as two, Latch(tmp_path / "a") as three:
        assert one.take(LOCK_SH)
        assert two.take(LOCK_SH)
        assert not three.take(LOCK_EX, within=0.01)


def test_one_who_waits_gets_it_when_it_is_let_go(tmp_path: Path) -> None:
    one, two = Latch(tmp_path / "a"), Latch(tmp_path / "a")
    assert one.take(LOCK_EX)
    with ThreadPoolExecutor(1) as beside:
        taken = beside.submit(two.take, LOCK_EX, within=10)
        assert so(lambda: bool(waiters())).wait(LONG)
        assert not taken.done()
        one.close()
        assert taken.result()
    two.close()


def waiters() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "dibs-latch"]


def test_one_who_has_given_up_keeps_nothing(tmp_path: Path) -> None:
    one, two, three = (Latch(tmp_path / "a") for _ in range(3))
    assert one.take(LOCK_EX)
    assert not two.take(LOCK_EX, within=0.01)
    two.close()
    one.close()
    assert three.take(LOCK_EX, within=10)
    three.close()
    for waiter in waiters():
        waiter.join(LONG)
    assert not [name for name in descriptors() if str(tmp_path) in name]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking beside threads is what is tested
def test_a_child_has_none_of_them_open_and_cannot_close_what_is_new(tmp_path: Path) -> None:
    latch = Latch(tmp_path / "a")
    assert latch.take(LOCK_EX)

    def live() -> None:
        assert not [name for name in descriptors() if str(tmp_path) in name]
        with Latch(tmp_path / "b") as new:
            latch.close()
            assert os.path.samestat(os.fstat(new.fileno()), (tmp_path / "b").stat())

    assert ended_well(in_a_fork(live))
    with Latch(tmp_path / "a") as other:
        assert not other.take(LOCK_EX)
    latch.close()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        Latch(tmp_path / "link")
