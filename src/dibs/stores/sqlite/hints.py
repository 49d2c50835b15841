"""Wake-ups between processes: datagrams that tell a waiter that the lock is its own.

They are hints. One that is lost costs time, never the lock: the table tells its owner when it next asks.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import EAGAIN, ENOBUFS
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Literal
from weakref import finalize

from dibs.model.value import value
from dibs.stores.machine import has_room, socket_folder

if TYPE_CHECKING:
    from dibs.model.asks import Push

BESIDE = "-wake"
LARGEST = 512
LONGEST_NAP = 3600.0
"""How long to listen at a time: a socket takes no endless timeout."""
PATIENCE = 1.0
"""How long a process may be too busy to take a hint before it is left to find out by itself."""
NEW_FOR = 5.0
"""How long a socket that nobody answers at may be one that is just being made."""

_KINDS: Mapping[str, Literal["handed", "evicted"]] = {"handed": "handed", "evicted": "evicted"}


@value
class Hint:
    """What a process is told: who was given the lock, or lost it; by the boot clock, which all processes here share."""

    kind: Literal["handed", "evicted"]
    owner: str
    fence: int
    granted_at: float


def mailbox_folder(file: Path) -> Path:
    """Where the sockets of a store are: beside its file or, if that path is too long, in a temporary folder."""
    beside = Path(f"{file}{BESIDE}")
    return beside if has_room(beside) else socket_folder()


def is_beside(folder: Path) -> bool:
    """Whether it goes with the file."""
    return folder.name.endswith(BESIDE)


def new_name() -> str:
    """For a socket: nobody else's."""
    return os.urandom(8).hex()


def home(channel: str) -> str:
    """The line's own mailbox, to which a thread's (`line.thread`) belongs."""
    line, _, thread = channel.rpartition(".")  # a line's own name has no dot, but the path of its folder may have one
    return line if line and thread.isdecimal() else channel


def worded(push: Push, granted_at: float) -> bytes:
    """A hint as it is sent."""
    return f"{push.kind} {push.owner} {push.fence} {granted_at!r}".encode()


def read(data: bytes | None) -> Hint | None:
    """A hint as it was sent, or nothing if it is no such thing."""
    if not data:
        return None
    try:
        kind, owner, fence, granted_at = data.decode().split(" ")
        return Hint(_KINDS[kind], owner, int(fence), float(granted_at))
    except (ValueError, KeyError):
        return None


class Mailbox:
    """A socket of our own, for hints that others send."""

    def __init__(self, path: str) -> None:
        self.path, self.is_closed, self._pid = path, False, os.getpid()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            _make_private(Path(path).parent)
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108 - nobody else's name: a signal struck when we had just bound it
            self._socket.bind(path)
        except BaseException:
            self._socket.close()
            raise

    def listen(self, heard: Callable[[bytes], bool]) -> None:
        """Read what comes on a thread of its own, as long as it is heard."""
        try:
            threading.Thread(target=self._pass_on, args=(heard,), name="dibs-mailbox", daemon=True).start()
        except RuntimeError as error:
            self.close()
            raise OSError(EAGAIN, str(error)) from error

    def next(self, within: float) -> bytes | None:
        """What comes next, if anything does in time."""
        seconds, rest = divmod(min(within, LONGEST_NAP), 1)
        # Not `settimeout`: that would look first whether something is there, by a call of its own.
        limit = struct.pack("@ll", int(seconds), int(rest * 1e6) or 1)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            return self._socket.recv(LARGEST)
        except OSError:  # nothing came, or it was closed
            return None

    def knock(self) -> None:
        """Wake up whoever reads it. If it is full, he will wake up anyway; if it was deleted, its end wakes him up."""
        try:
            with suppress(BlockingIOError), _speaker() as speaker:
                speaker.sendto(b"?", self.path)
        except OSError:
            self.close()

    def is_there(self) -> bool:
        """Whether others can still find it."""
        return os.path.exists(self.path)  # noqa: PTH110 - looked at again and again

    def close(self) -> None:
        """Stop listening. In a forked child, where it may be collected before anybody is told of the fork: let go."""
        if self._pid != os.getpid():
            self.abandon()
            return
        self.is_closed = True
        with suppress(OSError):
            os.unlink(self.path)  # noqa: PTH108 - as above
        self.hang_up()

    def hang_up(self) -> None:
        """Let go of the socket; whoever reads it wakes up."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def abandon(self) -> None:
        """In a forked child: it is the parent's, which must be seen to be dead when it is."""
        self.is_closed = True
        self._socket.close()

    def _pass_on(self, heard: Callable[[bytes], bool]) -> None:
        with suppress(OSError):
            while not self.is_closed:
                data = self._socket.recv(LARGEST)
                if data and not heard(data):
                    return


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise PermissionError(0, f"{folder} is not a private folder of this user", str(folder))


def clear_away(folder: Path) -> None:
    """Remove the sockets of processes that died without doing so.

    Not those that were made just now: a socket has its name for a moment before it can be connected to.
    """
    made_before = time.time() - NEW_FOR
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe, os.scandir(folder) as found:
        for entry in found:
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < made_before and not _answers(probe, entry.path):
                    os.unlink(entry.path)  # noqa: PTH108 - its path is text already


def _answers(probe: socket.socket, path: str) -> bool:
    try:
        probe.connect(path)
    except ConnectionRefusedError:
        return False
    return True


class Bell:
    """Rings at other processes. Its sockets are this process's alone, and open until it is closed."""

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        # The garbage collector might get to the sockets before it gets to us, and complain: so they are not its own.
        finalize(self, _close_all, self._sockets).atexit = False
        self._stuck: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        self._is_patient, self._making = threading.Lock(), threading.RLock()

    def answers(self, path: str) -> bool:
        """Whether a process listens there. For one thread at a time."""
        probe = self._sockets.get("probe") or self._made("probe")
        try:
            probe.connect(path)
        except OSError:
            return False
        return True

    def ring(self, path: str, data: bytes) -> None:
        """Send without waiting; if the process is too busy to take it, a thread of ours stays until it does."""
        try:
            speaker = self._sockets.get("speaker") or self._made("speaker")
            speaker.sendto(data, path)
            os.sched_yield()  # or the one we woke up may have to wait until this processor has nothing else to do
        except OSError as error:
            if error.errno in {EAGAIN, ENOBUFS}:
                self._stuck.put((path, data))
                self._stay()

    def close(self) -> None:
        """Until it is used again."""
        _close_all(self._sockets)

    def _made(self, use: str) -> socket.socket:
        with self._making:  # several threads may want it at once
            made = self._sockets.get(use)
            if made is None:
                made = self._sockets[use] = _speaker()
            return made

    def _stay(self) -> None:
        if not self._is_patient.acquire(blocking=False):
            return
        try:
            threading.Thread(target=self._insist, name="dibs-bell", daemon=True).start()
        except RuntimeError:  # no more threads: they find out by themselves
            self._is_patient.release()

    def _insist(self) -> None:
        try:
            with suppress(OSError, Empty), _speaker() as speaker:
                speaker.settimeout(PATIENCE)
                while True:
                    path, data = self._stuck.get(timeout=PATIENCE)
                    with suppress(OSError):
                        speaker.sendto(data, path)
        finally:
            self._is_patient.release()
        if not self._stuck.empty():
            self._stay()


def _close_all(sockets: dict[str, socket.socket]) -> None:
    while sockets:
        sockets.popitem()[1].close()


def _speaker() -> socket.socket:
    speaker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    speaker.setblocking(False)  # noqa: FBT003 - it takes no other
    return speaker
