"""What is changed for good is on the disk before it is told, and no lock waits for that."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import Any

import pytest

from dibs import Dibs
from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Acquire, Granted
from dibs.model.sheet import Change
from dibs.ports.store import Command, Reply
from dibs.runtime.clock import boottime
from dibs.stores.sqlite import Location, SqliteBackend
from dibs.testing.contract.books import Books
from dibs.testing.contract.lines import Ear
from tests.chaos.disks import full, make_read_only, small_disk

LONG = 20.0
WAIT_FOR_DISK = "dibs.stores.sqlite.file._wait_for_disk"
NEW = Change("a", 0, "text", None, -inf, inf)
COLOURS = pytest.mark.parametrize("colour", ["blocking", "asyncio"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "locks.sqlite"


@pytest.fixture
def backend(file: Path) -> SqliteBackend:
    return SqliteBackend(Location(file))


@pytest.fixture
def opened(backend: SqliteBackend) -> Iterator[Callable[[str], Books]]:
    """Opens books of a colour; the first change is made, so that what follows is nobody's first."""
    made: list[Books] = []

    def opened(colour: str) -> Books:
        books = Books(backend, colour, "jobs")
        made.append(books)
        books.keep("first")
        return books

    yield opened
    for books in made:
        books.close()


class SlowDisk:
    """A disk that takes its time until it is told to go on, or fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_asked, self.may_go_on, self.asked = threading.Event(), threading.Event(), 0
        self.fault: OSError | None = None
        monkeypatch.setattr(WAIT_FOR_DISK, self.wait)

    def wait(self, _handle: int) -> None:
        self.asked += 1
        self.is_asked.set()
        assert self.may_go_on.wait(LONG)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    disk = SlowDisk(monkeypatch)
    yield disk
    disk.may_go_on.set()


@pytest.fixture
def aside() -> Iterator[Callable[[Callable[[], object]], Future[object]]]:
    """Does something on a thread of its own."""
    with ThreadPoolExecutor() as pool:
        yield pool.submit


@COLOURS
def test_a_power_cut_takes_back_nothing_of_what_was_told(
    file: Path, colour: str, opened: Callable[[str], Books], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a disk surely has is what it had when it was last waited for."""
    books, log, taken = opened(colour), Path(f"{file}-wal"), tmp_path / "taken"

    def take(handle: int) -> None:
        assert os.fstat(handle).st_ino == log.stat().st_ino
        os.fsync(handle)
        shutil.copy(file, taken)
        shutil.copy(log, f"{taken}-wal")

    monkeypatch.setattr(WAIT_FOR_DISK, take)
    [revision] = books.amend(NEW)
    db = sqlite3.connect(taken)
    assert db.execute("SELECT revision, text FROM job WHERE name = 'a'").fetchall() == [(revision, "text")]
    db.close()


@COLOURS
def test_locks_and_looks_wait_for_no_disk(
    backend: SqliteBackend, colour: str, opened: Callable[[str], Books], disk: SlowDisk
) -> None:
    disk.may_go_on.set()
    books = opened(colour)
    asked = disk.asked
    with Dibs(backend) as d:
        d.lock("a").acquire().release()
    books.due()
    books.read("first")
    books.history("first")
    assert disk.asked == asked


def test_while_one_waits_for_the_disk_others_take_locks(
    file: Path,
    backend: SqliteBackend,
    disk: SlowDisk,
    opened: Callable[[str], Books],
    aside: Callable[[Callable[[], object]], Future[object]],
) -> None:
    disk.may_go_on.set()
    books = opened("blocking")
    disk.may_go_on.clear()
    disk.is_asked.clear()
    told = aside(lambda: books.amend(NEW))
    assert disk.is_asked.wait(LONG)
    with Dibs(backend) as of_the_same_process:
        of_the_same_process.lock("a", wait=LONG).acquire().release()
    with Dibs(SqliteBackend(Location(file))) as of_another:
        of_another.lock("a", wait=LONG).acquire().release()
    assert not told.done()
    disk.may_go_on.set()
    assert told.result(LONG)


def test_while_it_waits_for_the_disk_a_loop_takes_locks(backend: SqliteBackend, disk: SlowDisk) -> None:
    async def scene() -> None:
        line, store, loop = backend.aio(Ear(), boottime), backend.locks("jobs"), asyncio.get_running_loop()

        def posted(command: Command[Any]) -> asyncio.Future[Reply | StoreUnreachable]:
            answer: asyncio.Future[Reply | StoreUnreachable] = loop.create_future()
            line.post(command.words, command.node, answer.set_result)
            return answer

        told = posted(store.amend([NEW]))
        assert await asyncio.to_thread(disk.is_asked.wait, LONG)
        granted = await posted(store.acquire("a", Acquire("me", 60.0, inf, line.channel, "me")))
        assert isinstance(granted, Reply)
        assert isinstance(granted.value, Granted)
        assert not told.done()
        disk.may_go_on.set()
        outcome = await told
        assert isinstance(outcome, Reply)
        assert outcome.value != [0]
        line.close()

    asyncio.run(asyncio.wait_for(scene(), LONG))


@COLOURS
def test_a_disk_that_fails_is_told_as_not_known_and_waited_for_by_whoever_looks(
    colour: str, opened: Callable[[str], Books], disk: SlowDisk
) -> None:
    disk.may_go_on.set()
    books = opened(colour)
    disk.fault = OSError(errno.EIO, "Input/output error")
    with pytest.raises(StoreUnreachable, match="its disk fails") as unknown:
        books.amend(NEW)
    assert not isinstance(unknown.value, StoreRefused)
    for look in (books.due, lambda: books.read("a"), lambda: books.history("a")):
        with pytest.raises(StoreUnreachable, match="its disk fails"):
            look()
    disk.fault = None
    assert [sheet.text for sheet in books.read("a").sheets] == ["text"]
    asked = disk.asked
    books.due()
    assert disk.asked == asked


@COLOURS
def test_a_full_disk_refuses_a_change(colour: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        books = Books(SqliteBackend(Location(disk / "locks.sqlite")), colour, "jobs")
        books.keep("first")
        with full(disk), pytest.raises(StoreRefused, match="the disk is full"):
            books.amend(*(Change(f"{number}", 0, "text" * 1_000, None, -inf, inf) for number in range(100)))
        assert books.read(*map(str, range(100))).sheets == []
        assert books.amend(NEW) != [0]
        books.close()


@COLOURS
def test_a_disk_that_can_only_be_read_refuses_a_change(colour: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        books = Books(SqliteBackend(Location(disk / "locks.sqlite")), colour, "jobs")
        make_read_only(disk)
        with pytest.raises(StoreRefused, match="Read-only file system"):
            books.amend(NEW)
        books.close()


@COLOURS
def test_a_file_that_was_replaced_is_noticed_by_every_change(
    file: Path, colour: str, opened: Callable[[str], Books]
) -> None:
    """Locks look for it only now and then."""
    books = opened(colour)
    file.unlink()
    with pytest.raises(StoreRefused, match="deleted or replaced"):
        books.amend(NEW)
    assert books.amend(NEW) != [0]
    assert books.read("first").sheets == []
