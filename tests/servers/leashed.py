"""A server's process, of whatever kind: it is heard until it is ready, and ends with whoever has started it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tests.chaos.stage import LONG
from tests.servers.watchdog import watchdog

REPORT_AND_BECOME = 'echo "$$ $0" >&0 && exec "$@" </dev/null'
"""Tell the watchdog, at the other end of stdin, our number and our folder; then become the server."""


class NotStarted(AssertionError):
    """A server did not come up; says what it has said."""


class Leashed:
    """A process that runs in a folder of its own, and says so when it is `ready`; its words are added to `said`."""

    def __init__(self, words: Sequence[str], folder: Path, *, ready: str, said: list[str], **how: Any) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", REPORT_AND_BECOME, str(folder), *words],
            stdin=watchdog().leash,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            text=True,
            errors="replace",
            start_new_session=True,
            **how,
        )
        self.pid, self._said, self._from = self._process.pid, said, len(said)
        self._heard, self._is_ready = threading.Event(), False
        assert self._process.stdout is not None
        self._stdout: IO[str] = self._process.stdout
        self._listener = threading.Thread(target=self._listen, args=(ready,), daemon=True)
        self._listener.start()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def comes_up(self) -> bool:
        """Wait until it is ready; false if it has ended instead, or says nothing."""
        return self._heard.wait(LONG) and self._is_ready

    def not_started(self) -> NotStarted:
        """What to raise when it did not come up."""
        return NotStarted("".join(self._said[self._from :]))

    def stop(self) -> None:
        """Ask it to end, and make it end if it does not."""
        self._process.terminate()
        self.resume()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LONG)
        self.kill()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait(LONG)
        watchdog().forget(self.pid)
        self._listener.join(LONG)
        if not self._listener.is_alive():  # else a child of its own still speaks, and to close would wait for that
            self._stdout.close()

    def pause(self) -> None:
        """Hold it up wherever it is; it stands still when this returns."""
        self._process.send_signal(signal.SIGSTOP)
        how = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert how is not None
        assert how.si_code == os.CLD_STOPPED, "it has ended"

    def resume(self) -> None:
        """Let it run again."""
        self._process.send_signal(signal.SIGCONT)

    def _listen(self, ready: str) -> None:
        for line in self._stdout:
            self._said.append(line)
            if ready in line:
                self._is_ready = True
                self._heard.set()
        self._heard.set()  # it has ended: nobody need wait for it
