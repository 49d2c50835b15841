"""A server as the kernel sees it: who listens in a folder, who guards it, and whether they are gone."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dibs.stores.embedded import Folder, ServerLease
from dibs.stores.embedded.location import socket_of

SOON = 5.0
"""By when a server must be gone that nobody uses."""


class Household:
    """All processes that belong to one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def place(self) -> Folder:
        return Folder(self.folder)

    def server(self) -> int:
        """The process that answers at the socket."""
        return server_at(socket_of(self.folder))

    def guardian(self) -> int:
        return int(Path(f"/proc/{self.server()}/stat").read_text().rpartition(")")[2].split()[1])

    def members(self) -> set[int]:
        """Whoever has the folder among the words he was started with and is no program of ours: server and guardian."""
        words = {pid: _words(pid) for pid in _processes()}
        return {pid for pid in words if os.fsencode(self.folder) in words[pid] and b"tests.chaos" not in words[pid]}

    def servers(self) -> set[int]:
        return {pid for pid in self.members() if b"unixsocket:" in _words(pid)}

    def ends(self) -> None:
        """Wait until nobody is left."""
        all_end(self.members())
        assert not self.members()


@dataclass(frozen=True)
class SlowServer:
    """A server that is started, and goes on when it is let."""

    program: Path
    _is_started: Path
    _may_go_on: Path

    def starts(self) -> None:
        assert self._is_started.read_text() == "started\n"

    def goes_on(self) -> None:
        self._may_go_on.write_text("go\n")


def server_at(path: Path) -> int:
    info = said_by(path, "INFO server")
    return int(info.partition("process_id:")[2].split()[0])


def said_by(path: Path, words: str) -> str:
    """The answer of a server."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(SOON)
        line.connect(str(path))
        line.sendall(f"{words}\r\n".encode())
        return line.recv(65536).decode()


def server_of(lease: ServerLease) -> int:
    return server_at(lease.socket_path)


def kill(pid: int) -> None:
    """End it, without a word of farewell, and wait for that."""
    os.kill(pid, signal.SIGKILL)
    all_end([pid])


def all_end(pids: Iterable[int]) -> None:
    """Wait for the kernel to say so; an assertion fails if one is left."""
    give_up_at = time.monotonic() + SOON
    for pid in pids:
        with suppress(ProcessLookupError):
            watch = os.pidfd_open(pid)
            try:
                poll = select.poll()
                poll.register(watch, select.POLLIN)
                left = max(give_up_at - time.monotonic(), 0)
                assert poll.poll(left * 1000), f"{pid} is still there: {_words(pid)!r}"
            finally:
                os.close(watch)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
