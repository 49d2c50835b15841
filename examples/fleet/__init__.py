"""Several processes of one example by one command: they speak into its terminal, and end with it."""

from __future__ import annotations

import os
import signal
import sys


def side_by_side(module: str, *, called: str, count: int) -> int:
    """Start so many of `python -m module --instance NUMBER`, and wait for all of them; 0 if none of them failed.

    One that is killed is missed by nobody but the reader: the others go on, and do its work.
    """
    running: dict[int, str] = {}
    failed = 0
    signal.signal(signal.SIGTERM, lambda *_: _pass_on(running))
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C: the terminal has told all of them, and they finish
    for number in range(1, count + 1):
        words = [sys.executable, "-m", module, "--instance", str(number)]
        pid = os.posix_spawn(sys.executable, words, os.environ)
        running[pid] = f"{called} {number}"
        print(f"{running[pid]} is process {pid}", flush=True)
    while running:
        pid, status = os.wait()
        code, name = os.waitstatus_to_exitcode(status), running.pop(pid)
        failed += code > 0
        print(f"{name} {'has ended' if code >= 0 else f'was killed by signal {-code}'}", flush=True)
    return 1 if failed else 0


def _pass_on(running: dict[int, str]) -> None:
    """Who has not ended yet is still ours to tell: its number is nobody else's before we have waited for it."""
    for pid in running:
        os.kill(pid, signal.SIGTERM)
