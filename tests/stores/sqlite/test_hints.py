"""Wake-ups by datagram: hints that may be lost, and never do harm."""

from __future__ import annotations

import gc
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from errno import EMFILE
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

import pytest

from dibs.model.asks import Push
from dibs.stores.sqlite import hints
from dibs.stores.sqlite.hints import Bell, Hint, Mailbox, clear_away, home, mailbox_folder, new_name, read, worded
from tests.chaos.famines import no_threads

LONG = 10.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a path that is short enough for sockets, which `tmp_path` is not."""
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        yield Path(folder)


@pytest.fixture
def path(folder: Path) -> str:
    return f"{folder}/{new_name()}"


def left_by_the_dead(path: str) -> None:
    """A socket whose process has died."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as box:
        box.bind(path)


@pytest.mark.parametrize("kind", ["handed", "evicted"])
def test_a_hint_is_read_as_it_was_worded(kind: Literal["handed", "evicted"]) -> None:
    push = Push("/some/where", "owner", 1_794_792_921_083_042, kind)
    assert read(worded(push, 12.000_000_1)) == Hint(kind, push.owner, push.fence, 12.000_000_1)


@pytest.mark.parametrize(
    "data",
    [
        b"?",
        b"",
        b"handed",
        b"handed owner x 1.0",
        b"handed owner 1 x",
        b"stolen owner 1 1.0",
        b"\xff\xfe",
        b"a b c d e",
    ],
)
def test_what_is_no_hint_is_not_read(data: bytes) -> None:
    assert read(data) is None


def test_what_is_rung_is_heard(path: str) -> None:
    heard = SimpleQueue[bytes]()
    box, bell = Mailbox(path), Bell()

    def hear(data: bytes) -> bool:
        heard.put(data)
        return True

    box.listen(hear)
    assert bell.answers(path)
    bell.ring(path, b"well")
    assert heard.get(timeout=LONG) == b"well"
    box.close()
    bell.close()


def test_a_closed_mailbox_answers_no_more_and_leaves_nothing(path: str) -> None:
    box, bell = Mailbox(path), Bell()
    assert box.is_there()
    box.close()
    box.close()
    assert not box.is_there()
    assert not bell.answers(path)
    bell.ring(path, b"in vain")
    bell.close()


def test_whoever_reads_a_mailbox_is_woken_up_by_a_knock_and_by_its_end(path: str) -> None:
    box, read_by_thread = Mailbox(path), SimpleQueue[bytes | None]()

    def read_twice() -> None:
        read_by_thread.put(box.next(LONG))
        read_by_thread.put(box.next(LONG))

    thread = threading.Thread(target=read_twice)
    thread.start()
    box.knock()
    assert read_by_thread.get(timeout=LONG) == b"?"
    box.close()
    assert not read_by_thread.get(timeout=LONG)
    thread.join()


def test_a_mailbox_can_be_made_where_one_was_left_behind(path: str) -> None:
    """A signal may strike when the socket has just got its name, and its owner does not know yet."""
    left_by_the_dead(path)
    box, bell = Mailbox(path), Bell()
    assert bell.answers(path)
    box.close()
    bell.close()


def test_mailboxes_are_only_made_in_a_private_folder(folder: Path, path: str) -> None:
    folder.chmod(0o755)
    with pytest.raises(PermissionError, match="not a private folder"):
        Mailbox(path)


def test_mailboxes_are_not_made_behind_a_link(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(PermissionError, match="not a private folder"):
        Mailbox(f"{link}/{new_name()}")


def test_a_mailbox_without_a_thread_to_read_it_is_taken_back(path: str) -> None:
    box, bell = Mailbox(path), Bell()
    with no_threads(), pytest.raises(OSError, match="can't start new thread"):
        box.listen(lambda _: True)
    assert not bell.answers(path)
    bell.close()


def test_dead_sockets_are_cleared_away_and_live_ones_are_not(folder: Path) -> None:
    dead, live = f"{folder}/{new_name()}", f"{folder}/{new_name()}"
    left_by_the_dead(dead)
    box = Mailbox(live)
    for path in (dead, live):
        os.utime(path, (0, 0))
    clear_away(folder)
    assert not Path(dead).exists()
    assert Path(live).exists()
    box.close()


def test_a_socket_that_is_just_being_made_is_not_cleared_away(path: str, folder: Path) -> None:
    """It has a name for a moment before it can be connected to."""
    left_by_the_dead(path)
    clear_away(folder)
    assert Path(path).exists()


def test_there_may_be_nothing_to_clear_away(tmp_path: Path) -> None:
    clear_away(tmp_path / "missing")


def test_a_full_mailbox_gets_its_hints_as_soon_as_it_is_read(path: str) -> None:
    box, bell = Mailbox(path), Bell()
    sent = [f"hint {number}".encode() for number in range(50)]
    for data in sent:
        bell.ring(path, data)
    assert sorted(filter(None, (box.next(LONG) for _ in sent))) == sorted(sent)
    box.close()
    bell.close()


def test_a_process_that_reads_nothing_does_not_keep_hints_from_others(folder: Path) -> None:
    deaf, well = Mailbox(f"{folder}/{new_name()}"), Mailbox(f"{folder}/{new_name()}")
    bell = Bell()
    for number in range(50):
        bell.ring(deaf.path, f"hint {number}".encode())
    bell.ring(well.path, b"well")
    assert well.next(LONG) == b"well"
    deaf.close()
    well.close()
    bell.close()


def test_threads_that_ring_for_the_first_time_at_once_leave_no_socket_behind(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, as_it_was, both = list[socket.socket](), hints._speaker, threading.Barrier(2)

    def speaker() -> socket.socket:
        made.append(as_it_was())
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)  # for the other one, should it come here too
        return made[-1]

    monkeypatch.setattr(hints, "_speaker", speaker)
    bell = Bell()
    threads = [threading.Thread(target=bell.ring, args=(path, b"in vain")) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bell.close()
    assert [box.fileno() for box in made] == [-1]


def test_a_bell_that_finds_no_free_file_descriptor_stays_silent(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done is done: whoever did it must not be told that it failed."""

    def fail() -> socket.socket:
        raise OSError(EMFILE, "Too many open files")

    monkeypatch.setattr(hints, "_speaker", fail)
    Bell().ring(path, b"in vain")


def test_a_bell_that_finds_no_free_thread_stays_silent(path: str) -> None:
    box, bell = Mailbox(path), Bell()
    with no_threads():
        for number in range(50):
            bell.ring(path, f"hint {number}".encode())
    bell.ring(path, b"and again, when there are some")
    heard = [box.next(LONG) for _ in range(51)]
    assert b"and again, when there are some" in heard
    box.close()
    bell.close()


def test_sockets_are_beside_their_file_unless_its_path_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mailbox_folder(Path("/var/lib/app/locks.sqlite")) == Path("/var/lib/app/locks.sqlite-wake")
    monkeypatch.setattr("tempfile.tempdir", "/var/tmp")  # noqa: S108
    assert mailbox_folder(Path("/", "x" * 80, "locks.sqlite")) == Path(f"/var/tmp/dibs-{os.getuid()}")  # noqa: S108
    monkeypatch.setattr("tempfile.tempdir", f"/{'y' * 90}")
    assert mailbox_folder(Path("/", "x" * 80, "locks.sqlite")) == Path(f"/tmp/dibs-{os.getuid()}")  # noqa: S108


def test_a_thread_s_mailbox_belongs_to_its_line() -> None:
    assert home("/a/b.sqlite-wake/0123.17") == "/a/b.sqlite-wake/0123"
    assert home("/a/b.sqlite-wake/0123") == "/a/b.sqlite-wake/0123"
    assert home("0123456789abcdef.17") == "0123456789abcdef"


@pytest.mark.parametrize("line", ["0123456789abcdef", "0123456789012345", "/a/b.12/0123456789012345"])
def test_a_line_s_own_mailbox_is_its_own_also_if_its_name_is_a_number(line: str) -> None:
    """One of some 1,800 names has no letter in it."""
    assert home(line) == line


def test_a_bell_that_is_collected_closes_its_sockets_without_complaint(path: str) -> None:
    """Also when it is part of a circle, in which the collector may get to the sockets first."""
    box = Mailbox(path)
    gc.freeze()  # what other tests have left is not looked at each time
    for _ in range(20):
        bell = Bell()
        circle: list[object] = [bell]
        circle.append(circle)
        assert bell.answers(path)
        bell.ring(path, b"?")
        gc.collect(0)  # the older ones move, and with them the order
        del bell, circle
        gc.collect()
        assert box.next(LONG) == b"?"
    gc.unfreeze()
    box.close()
