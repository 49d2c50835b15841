"""One worker by its number, whichever process fills the place at the moment."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.model.restarts import Past
from dibs.model.value import value
from dibs.runtime.supervisor.lifeline import LIFELINE, PATH, WORKER_ID, Lifeline

if TYPE_CHECKING:
    from collections.abc import Sequence

AT_ITS_END = 0.2
"""How long a process may take to be dead after it has hung up."""


@value
class Program:
    """What each worker is to serve, and where."""

    target: str
    host: str
    port: int | None
    app: str | None
    grace: float
    is_quiet: bool = True

    def port_of(self, worker: int) -> int | None:
        """Where that worker listens."""
        return None if self.port is None else self.port + worker

    def words(self, worker: int) -> Sequence[str]:
        """The command line of a worker: it serves as a process without a primary does."""
        words = [sys.executable, "-m", "dibs", "serve", self.target, "--grace", f"{self.grace:.3f}s"]
        if self.port is not None:
            words += ["--host", self.host, "--port", str(self.port + worker)]
        if self.app is not None:
            words += ["--app", self.app]
        return [*words, "--quiet"] if self.is_quiet else words


class Post:
    """A worker's place. Times are monotonic seconds."""

    def __init__(self, number: int, program: Program) -> None:
        self.number, self._program = number, program
        self.past = Past()
        self.starts_at: float | None = 0.0
        """When the next process is due; `None` while there is one, and when there is to be none any more."""
        self.leaves_by: float | None = None
        """Until when the process that was asked to leave has time for it."""
        self.started_at = self.heard_at = 0.0
        self.ready_at: float | None = None
        self.fault = self.killed_for = ""
        self.lifeline: Lifeline | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the process that fills the place, or did."""
        return 0 if self._process is None else self._process.pid

    @property
    def port(self) -> int | None:
        """Where it listens."""
        return self._program.port_of(self.number)

    @property
    def is_filled(self) -> bool:
        """Whether there is a process, alive or not yet buried."""
        return self.lifeline is not None

    @property
    def is_vacant(self) -> bool:
        """Whether there is no process, and is to be none."""
        return not self.is_filled and self.starts_at is None

    def start(self, now: float) -> Lifeline:
        """Let a new process fill the place; gives our end of what we have with it."""
        ours, its = socket.socketpair()
        with its:
            environment = {**os.environ, WORKER_ID: str(self.number), LIFELINE: str(its.fileno())}
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    self._program.words(self.number),
                    stdin=subprocess.DEVNULL,
                    env={**environment, PATH: os.pathsep.join(sys.path)},
                    pass_fds=[its.fileno()],
                    process_group=0,  # what is typed on our terminal is for us
                )
            except OSError:
                ours.close()
                raise
        self.starts_at = self.leaves_by = self.ready_at = None
        self.started_at, self.heard_at = now, now
        self.fault = self.killed_for = ""
        self.lifeline = Lifeline(ours)
        return self.lifeline

    def listen(self, now: float) -> bool:
        """Take in what it has said; tells whether it has just become ready."""
        was_ready = self.ready_at is not None
        for said in () if self.lifeline is None else self.lifeline.heard():
            self.heard_at = now
            if said.word == "ready" and self.ready_at is None:
                self.ready_at, self.past = now, self.past.risen()
            if said.word == "fault":
                self.fault = said.text
        return self.ready_at is not None and not was_ready

    def exit_code(self) -> int | None:
        """How it ended, if it has. Who has hung up is about to."""
        if self._process is None or self.lifeline is None:
            return None
        if self.lifeline.is_over:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(AT_ITS_END)
        return self._process.poll()

    def how(self, code: int) -> str:
        """How it ended, in words: what it has said itself, and else what can be seen."""
        if self.killed_for:
            return f"killed, as it was {self.killed_for}"
        if self.fault:
            return self.fault
        if code < 0:
            return f"ended by {_signal(-code)}"
        return f"exit code {code}" if code or self.ready_at is not None else "it ended before it was ready"

    def ask_to_leave(self, by: float, *, is_hurried: bool = False) -> None:
        """Have it finish what it has until then. Before it is ready it has nothing, and hears nothing but signals."""
        if self.lifeline is None or self._process is None:
            return
        self.leaves_by = by
        self.lifeline.say("hurry" if is_hurried else "leave")
        if self.ready_at is None:
            self._process.terminate()

    def kill(self, what_for: str) -> None:
        """End it without a word."""
        if self._process is not None and self.lifeline is not None:
            self.killed_for = self.killed_for or what_for
            self._process.kill()

    def bury(self) -> None:
        """See it dead, and hang up."""
        if self._process is not None and self.lifeline is not None:
            self._process.wait()
            self.lifeline.close()
            self.lifeline = None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
