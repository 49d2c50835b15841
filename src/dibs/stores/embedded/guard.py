"""The guardian of one server: starts it, ends it when the last user has gone, and takes it along if it dies itself.

A small program of its own, run by an isolated Python: it imports nothing of ours.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_UN, flock
from typing import NoReturn

PR_SET_PDEATHSIG = 1
IS_READY = b"Ready to accept connections"
PATIENCE = 1.0
"""How long a server may take to do as it is asked, before it is told so, and before it is killed."""
LOOK_EVERY = 0.25
"""How often to see whether the folder is still there."""
LAST_WORDS = 8
LONGEST_LOG = 1_000_000


def main(users: str, log: str, path: str, door: str, guard: str, server: str, *words: str) -> None:
    """Leave the process that started us, then stay with the server for as long as it lives.

    The server, started by its `words`, listens at `path`. `door`, `guard` and `server` are open and locked files: see
    `server.py`.
    """
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for kept in (door, guard):
        os.set_inheritable(int(kept), False)  # the server itself must not have them  # noqa: FBT003
    shares = os.open(users, os.O_RDWR | os.O_CREAT, 0o600)
    diary = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid, output = _start(words, int(server))
    is_over = threading.Event()
    threading.Thread(target=_end_with_users, args=(shares, users, path, pid, is_over), daemon=True).start()
    threading.Thread(target=_end_with_folder, args=(shares, users, pid, is_over), daemon=True).start()
    last_words = _listen(output, int(door), diary)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    is_over.set()
    if code != -signal.SIGKILL:  # or there is nothing to be learnt from them
        _tell(last_words, diary)


def _start(words: tuple[str, ...], server: int) -> tuple[int, int]:
    """The server, and what it says."""
    output, mouth = os.pipe()
    guardian, pid = os.getpid(), os.fork()
    if not pid:
        _become(words, mouth, guardian)
    os.close(mouth)
    os.close(server)
    return pid, output


def _become(words: tuple[str, ...], mouth: int, guardian: int) -> NoReturn:
    """In the child."""
    try:
        os.dup2(mouth, 1)
        os.dup2(mouth, 2)
        _die_with(guardian)
        os.execv(words[0], words)  # noqa: S606 - there is no shell, and shall be none
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(1)


def _die_with(guardian: int) -> None:
    """Let the kernel kill us when it dies. Only Linux can; elsewhere the next user asks us to go."""
    if sys.platform == "linux":
        with suppress(ImportError):  # a Python may have been built without it
            import ctypes  # noqa: PLC0415 - the guardian itself needs none

            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != guardian:  # it died before we had said so
        os._exit(1)


def _end_with_users(shares: int, users: str, path: str, pid: int, is_over: threading.Event) -> None:
    """Nobody uses it once we have the lock alone. We keep it to our end, so that a newcomer waits for that.

    If the folder is another one by now, so may be the server that listens there: then ours goes without touching it.
    """
    orders = [signal.SIGKILL]
    try:
        flock(shares, LOCK_EX)
        if _is_there(shares, users):
            _ask_to_end(path)
            orders.insert(0, signal.SIGTERM)
    finally:  # also if we could not watch it: better none than one that never ends
        for order in orders:
            if not is_over.is_set():
                os.kill(pid, order)
                is_over.wait(PATIENCE)


def _end_with_folder(shares: int, users: str, pid: int, is_over: threading.Event) -> None:
    """A server whose folder was deleted or replaced is not found by newcomers: they start another, with the same locks.

    So it goes, and its users start anew where the newcomers are. (One that was only moved is still found there.)
    """
    while _is_there(shares, users, if_unseen=os.fstat(shares).st_nlink > 0):
        if is_over.wait(LOOK_EVERY):
            return
    os.kill(pid, signal.SIGKILL)


def _is_there(shares: int, users: str, *, if_unseen: bool = False) -> bool:
    """Whether its path leads to the file that we have; if it leads nowhere, that is for others to know."""
    try:
        return os.path.samestat(os.fstat(shares), os.stat(users))  # noqa: PTH116 - no need for pathlib here
    except OSError:
        return if_unseen


def _ask_to_end(path: str) -> None:
    """It does so at once, while a signal would have to wait for its next tick; if it does not listen yet, it may."""
    import socket  # noqa: PLC0415 - for this moment only

    with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE)
        line.connect(os.fsencode(path))
        line.sendall(b"SHUTDOWN NOSAVE NOW FORCE\r\n")
        line.recv(1)


def _listen(output: int, door: int, diary: int) -> bytes:
    """Keep a log of all that the server says, up to its end; who started us is told when it is ready.

    Its last words are returned if that never was.
    """
    said, is_ready = deque[bytes](maxlen=LAST_WORDS), False
    with open(output, "rb") as lines:
        for line in lines:
            _note(diary, line)
            said.append(line)
            if not is_ready and IS_READY in line:
                is_ready = True
                _tell(b"ready\n", diary)
                flock(door, LOCK_UN)  # for who started us, too: he may be stopped
    return b"" if is_ready else b"".join(said)


def _tell(words: bytes, diary: int) -> None:
    """To who started us, if he is still there; all further complaints go into the log."""
    with suppress(OSError):
        os.write(1, words)
    os.dup2(diary, 1)
    os.dup2(diary, 2)


def _note(diary: int, line: bytes) -> None:
    with suppress(OSError):  # a full disk is the server's to complain about
        if os.fstat(diary).st_size > LONGEST_LOG:
            os.ftruncate(diary, 0)
        os.write(diary, line)


if __name__ == "__main__":
    main(*sys.argv[1:])
