"""Real programs for tests to start, listen to, stop, continue and kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Self

ROOT = Path(__file__).parents[2]
LONG = 30.0
"""How long a program may take to get somewhere before its test fails."""
QUIETLY = ("-W", "ignore:This process:DeprecationWarning", "-W", "default::ResourceWarning")
"""Forking beside threads is what is tested here; a thing that nobody closed is a fault."""


class Actor:
    """A program that plays one role: a function of some module of ours."""

    def __init__(self, role: Callable[..., None], *facts: object, env: Mapping[str, str] | None = None) -> None:
        self._stderr: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed when it is removed
        command = [sys.executable, *QUIETLY, "-m", "tests.chaos.actor", role.__module__, role.__name__]
        self._process = subprocess.Popen(
            [*command, json.dumps(facts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=ROOT,
            env=os.environ if env is None else env,
            text=True,
            start_new_session=True,
        )
        self.pid, self._said = self._process.pid, SimpleQueue[str | None]()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def hear(self, word: str, *, within: float = LONG) -> list[Any]:
        """What it says next, which must begin with that word."""
        try:
            line = self._said.get(timeout=within)
        except Empty:
            raise AssertionError(f"waited in vain for {word!r} {self._complaints()}") from None
        if line is None:
            raise AssertionError(f"it ended without saying {word!r} {self._complaints()}")
        heard, *facts = json.loads(line)
        assert heard == word, f"it said {heard!r} {facts}, not {word!r} {self._complaints()}"
        return list(facts)

    def tell(self, word: str) -> None:
        """Say something that it waits for."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        """Hold it up wherever it is; it is stopped when this returns."""
        os.kill(self.pid, signal.SIGSTOP)
        self.stops()

    def stops(self) -> None:
        """Wait until it was stopped, by itself perhaps."""
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        """Let it run again."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it, without a word of farewell."""
        self._process.kill()
        self._process.wait(LONG)

    def dies(self) -> None:
        """Wait until it was killed, by itself perhaps."""
        assert self._process.wait(LONG) == -signal.SIGKILL, self._complaints()

    def ends(self, *, within: float = LONG) -> None:
        """Wait until it has come to its end, well and without complaints."""
        try:
            assert self._process.wait(within) == 0, self._complaints()
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not come to its end {self._complaints()}") from None
        assert not self._complaint(), self._complaints()

    def remove(self) -> None:
        """Whatever is left of it and of all that it forked."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(LONG)
        self._listener.join(LONG)
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line)
        self._said.put(None)

    def _complaint(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().strip()

    def _complaints(self) -> str:
        code = self._process.poll()
        return f"(exit code {code}; stderr: {self._complaint() or 'nothing'})"


class Stage:
    """All the programs of one test."""

    def __init__(self) -> None:
        self._actors: list[Actor] = []

    def start(self, role: Callable[..., None], *facts: object, env: Mapping[str, str] | None = None) -> Actor:
        """Start a program; its role is a function at the top of a module, its facts are text, numbers and lists."""
        actor = Actor(role, *facts, env=env)
        self._actors.append(actor)
        return actor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for actor in self._actors:
            actor.remove()
