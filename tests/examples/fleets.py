"""An example that is several processes, run as a reader would run it, and listened to."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self

from dibs.config.settings import ALL
from tests.chaos.stage import LONG, ROOT


def environment(folder: Path, **said: str) -> dict[str, str]:
    """Ours, in which nothing is said of dibs but this; and that a busy machine is no outage."""
    known = {variable for setting in ALL for variable in setting.variables}
    nothing = {name: value for name, value in os.environ.items() if name not in known}
    return {
        **nothing,
        "XDG_STATE_HOME": str(folder / "state"),
        "PYTHONWARNINGS": "error",
        "DIBS_PATIENCE": "20s",
        **said,
    }


def words_of_the_readme(example: str) -> list[str]:
    """What its README writes after the example's name, the first time that it does."""
    found = re.search(rf"python -m examples\.{example} (.*)", (ROOT / "examples" / example / "README.md").read_text())
    assert found is not None
    return found[1].split()


class Fleet:
    """The processes of one command, whose lines come in the order in which they were said."""

    def __init__(self, module: str, *words: str, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=env,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        """What was heard so far."""
        self._said = SimpleQueue[str | None]()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def hear(self, pattern: str) -> re.Match[str]:
        """Listen until somebody says such a line, from where we last listened."""
        deadline = time.monotonic() + LONG
        while True:
            if found := re.fullmatch(pattern, self._next(pattern, deadline)):
                return found

    def hear_all(self, patterns: set[str]) -> None:
        """Listen until each of these was said, in whatever order."""
        left, deadline = set(patterns), time.monotonic() + LONG
        while left:
            line = self._next(" and ".join(left), deadline)
            left = {pattern for pattern in left if not re.fullmatch(pattern, line)}

    def pid(self, name: str) -> int:
        """Which process has that name."""
        [pid] = [int(line.rpartition(" ")[2]) for line in self.lines if line.startswith(f"{name} is process ")]
        return pid

    def kill(self, name: str) -> None:
        """One of them, without a word of farewell; it is dead when this returns, and all that it has said was heard."""
        os.kill(self.pid(name), signal.SIGKILL)
        self.hear(f"{name} was killed by signal 9")

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Hold one of them up wherever it is, with all that it holds."""
        os.kill(self.pid(name), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid(name), signal.SIGCONT)

    def ends(self, *, by_keyboard: bool = False) -> list[str]:
        """Ask all of them to end, which they do well; gives all that was ever said."""
        if by_keyboard:
            os.killpg(self._process.pid, signal.SIGINT)  # as a terminal does it
        else:
            self._process.terminate()
        code = self._process.wait(LONG)
        self._listener.join(LONG)
        while (line := self._said.get_nowait()) is not None:
            self.lines.append(line)
        assert code == 0, str(self)
        return self.lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LONG)
        self._listener.join(LONG)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _next(self, wanted: str, deadline: float) -> str:
        try:
            line = self._said.get(timeout=max(deadline - time.monotonic(), 0))
        except Empty:
            raise AssertionError(f"waited in vain for {wanted!r}:\n{self}") from None
        assert line is not None, f"they ended without saying {wanted!r}:\n{self}"
        self.lines.append(line)
        return line

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line.rstrip("\n"))
        self._said.put(None)


def one_at_a_time(lines: list[str], *, begins: str, ends: str) -> int:
    """How many came to an end, of work that never began on one while it went on on another, nor twice for one tick."""
    at_work, ended = None, Counter[str]()
    for line in lines:
        if found := re.fullmatch(rf"(.*): {begins}", line):
            assert at_work is None, f"{found[1]} began beside {at_work}"
            at_work = found[1]
        elif found := re.fullmatch(rf"(.*): {ends} (\d{{4}}-.*)", line):
            assert at_work == found[1]
            at_work, ended = None, ended + Counter([found[2]])
        elif found := re.fullmatch(r"(.*) was killed by signal 9", line):
            at_work = None if at_work == found[1] else at_work
    assert set(ended.values()) <= {1}, ended
    return ended.total()
