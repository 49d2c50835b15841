"""The floor of every lock that is kept in a SQLite file: one short write, and a datagram to whoever comes next.

Eight contend for the file, not only for the lock: whoever has handed it on writes down at once that it waits again.
So the floor has that write, too, though nobody waits for it.
"""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from bench.crew import Meet, pause

PAGE_SIZE = 1024
"""Small pages are written faster; the store has such, too."""
TIMEOUT = 30.0
FILE = "floor.sqlite"
STOP, GO = b"stop", b"go"


class WalFile:
    """A file with one row, written as safely as the store writes, and for no purpose."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=TIMEOUT, isolation_level=None)
        self._db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS lock (name TEXT PRIMARY KEY, fence INTEGER) WITHOUT ROWID")
        self._db.execute("INSERT OR IGNORE INTO lock VALUES ('a', 0)")

    def write(self) -> None:
        """One write transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("UPDATE lock SET fence = fence + 1 WHERE name = 'a'")
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


class TwoWrites:
    """What looks like a lock and only writes, once when it is entered and once when it is left."""

    def __init__(self, file: WalFile) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._file.write()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.write()


Turns = Sequence[tuple[float, float]]
"""When somebody began, and when it passed the baton on."""


def take_turns(number: int, meet: Meet, *, crowd: int, folder: Path, section: float, span: float) -> Turns:
    """A part: all pass a baton round, and no lock is in the way. Gives the turns of one."""
    return _round(_passed_on, number, meet, crowd=crowd, folder=folder, section=section, span=span)


def take_turns_in_a_loop(number: int, meet: Meet, *, crowd: int, folder: Path, section: float, span: float) -> Turns:
    """The same in an event loop, which is told that a datagram has come before it reads it."""
    return _round(_passed_on_in_a_loop, number, meet, crowd=crowd, folder=folder, section=section, span=span)


def _round(
    passed_on: Callable[..., Turns],
    number: int,
    meet: Meet,
    *,
    crowd: int,
    folder: Path,
    section: float,
    span: float,
) -> Turns:
    mine, other = (str(folder / f"baton-{player % crowd}") for player in (number, number + 1))
    with _mailbox(mine) as box:
        if number == 0:
            WalFile(folder / FILE).close()
        meet()
        with closing(WalFile(folder / FILE)) as file:
            until = meet() + span
            if number == 0:
                box.sendto(GO, mine)
            return passed_on(box, file, other, section=section, until=until)


@contextmanager
def _mailbox(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as box:
        box.bind(path)
        try:
            yield box
        finally:
            Path(path).unlink()


def _passed_on(box: socket.socket, file: WalFile, other: str, *, section: float, until: float) -> Turns:
    turns = []
    while box.recv(len(STOP)) == GO and (began_at := time.monotonic()) < until:
        if section:
            pause(section)
        turns.append((began_at, time.monotonic()))
        file.write()
        box.sendto(GO, other)
        file.write()
    with suppress(OSError):  # the other may be gone already
        box.sendto(STOP, other)
    return turns


def _passed_on_in_a_loop(box: socket.socket, file: WalFile, other: str, *, section: float, until: float) -> Turns:
    async def live() -> Turns:
        turns, loop, batons = [], asyncio.get_running_loop(), asyncio.Queue[bytes]()
        loop.add_reader(box, lambda: batons.put_nowait(box.recv(len(STOP))))
        while await batons.get() == GO and (began_at := time.monotonic()) < until:
            if section:
                await asyncio.sleep(section)
            turns.append((began_at, time.monotonic()))
            file.write()
            box.sendto(GO, other)
            file.write()
        loop.remove_reader(box)
        with suppress(OSError):
            box.sendto(STOP, other)
        return turns

    return asyncio.run(live())
