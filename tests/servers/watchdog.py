"""Ends the servers whose starter was killed: a program that outlives it by a moment.

It reads a line when a server starts (its number and its folder) and when one has ended (its number, negated), until
there is nobody left who could write one. Signals of the kernel for this (PR_SET_PDEATHSIG) would come when the thread
ends that has started the server, and are not to be had on every system.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache

LONG = 30.0


class Watchdog:
    """The watchdog of this process, which has the other end of the leash."""

    def __init__(self) -> None:
        end, leash = os.pipe()
        self._leash: int | None = leash
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(end)
        self.pid = self._process.pid
        os.register_at_fork(after_in_child=self._let_go)  # else a forked child would keep it waiting
        atexit.register(self._close)

    @property
    def leash(self) -> int:
        """Where to write: the server itself says its number before it becomes one, so none is missed."""
        assert self._leash is not None
        return self._leash

    def forget(self, pid: int) -> None:
        """That one has ended, and its number may become another's."""
        os.write(self.leash, f"{-pid}\n".encode())

    def _let_go(self) -> None:
        if self._leash is not None:
            os.close(self._leash)
            self._leash = None

    def _close(self) -> None:
        if self._leash is not None:
            self._let_go()
            with suppress(subprocess.TimeoutExpired):  # somebody else has the leash: it ends when that one does
                self._process.wait(LONG)


def watchdog() -> Watchdog:
    """The one of this process; a forked child has its own."""
    return _watchdog_of(os.getpid())


@cache
def _watchdog_of(pid: int) -> Watchdog:
    return Watchdog()


def main() -> None:
    """Watch until the leash is let go, and then end what is left."""
    folders: dict[int, str] = {}
    for line in sys.stdin:
        pid, *folder = line.split(maxsplit=1)
        if folder:
            folders[int(pid)] = folder[0].strip()
        else:
            folders.pop(-int(pid), None)
    for number in folders:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    for path in folders.values():
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
