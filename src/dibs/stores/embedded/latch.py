"""Lock files. What is locked is the open file, so the kernel drops it when the last process that has it open is dead.

A forked child has its parent's files open too, and would keep them locked: it closes them at once. (It must never
*unlock* them, which would do so for the parent.)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_NB, flock
from functools import partial
from pathlib import Path
from typing import Self

_open: set[int] = set()
_opening = threading.RLock()
"""Held while a file is opened, and during a fork: a child knows of each."""


class Latch:
    """One lock file, opened for ourselves: locked until it is closed here and wherever it was passed on to."""

    def __init__(self, path: Path) -> None:
        self._fd, self._pid = -1, os.getpid()
        self._fd = _opened(partial(os.open, path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))

    def take(self, how: int, within: float = 0.0) -> bool:
        """Lock it, shared or not; `False` if it could not be had in time."""
        if self._take_at_once(how):
            return True
        if within <= 0:
            return False
        is_over = threading.Event()
        copy = _opened(partial(os.dup, self._fd))
        try:
            threading.Thread(target=_wait, args=(copy, how, is_over), name="dibs-latch", daemon=True).start()
        except BaseException:
            _closed(copy)
            raise
        is_over.wait(within)
        return self._take_at_once(how)

    def fileno(self) -> int:
        """To pass it on to another program."""
        return self._fd

    def read(self) -> bytes:
        """What its last owner wrote."""
        return os.pread(self._fd, 4096, 0)

    def write(self, text: bytes) -> None:
        """For others to read while we have it."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)

    def close(self) -> None:
        """Let go of it, once; in a forked child that has been done."""
        fd, self._fd = self._fd, -1
        if fd >= 0 and self._pid == os.getpid():
            _closed(fd)

    def _take_at_once(self, how: int) -> bool:
        try:
            flock(self._fd, how | LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def _wait(copy: int, how: int, is_over: threading.Event) -> None:
    """On a thread of its own, as the kernel knows no limit; if nobody waits for it any more, it goes with the copy."""
    try:
        with suppress(OSError):  # the asker will see
            flock(copy, how)
            is_over.set()
    finally:
        _closed(copy)


def _opened(make: Callable[[], int]) -> int:
    with _opening:
        fd = make()
        _open.add(fd)
        return fd


def _closed(fd: int) -> None:
    with _opening, suppress(OSError):  # a program that became a daemon may have closed it already
        _open.discard(fd)
        os.close(fd)


def _before_fork() -> None:
    _opening.acquire()


def _after_fork_in_parent() -> None:
    _opening.release()


def _after_fork_in_child() -> None:
    global _opening  # noqa: PLW0603 - the parent's may be held by a thread that was not copied
    _opening = threading.RLock()
    while _open:
        _closed(_open.pop())


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
