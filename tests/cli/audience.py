"""How the tests watch a demo: line by line through a pipe, or on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

DEMO = (sys.executable, "-m", "dibs", "demo")
PATIENCE = 60.0
BRIEF = "0.4"
"""Seconds for a demo of which nothing is wanted but that it was there."""
GOOD = re.compile(r"no two were inside at once: [\d,]+ writes, fences strictly rising")

ON_ITS_TERMINAL = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"


def environment(**changes: str) -> Mapping[str, str]:
    unwanted = ("NO_COLOR", "COLUMNS", "LINES", "CI", "DIBS_URL", "DIBS_REQUIRE_SHARED")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "TERM": "xterm", **changes}


def see(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """A whole demo, to its end."""
    return subprocess.run(
        [*DEMO, *words], capture_output=True, text=True, check=False, timeout=PATIENCE, env=environment(**changes)
    )


@dataclass
class Pipe:
    """A demo that writes plain lines, and those that were read."""

    process: subprocess.Popen[str]
    seen: str = ""

    def read_until(self, pattern: str) -> re.Match[str]:
        """Read line by line until one is like that."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.seen += line
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it ended without {pattern!r}:\n{self.seen}{self.complaints()}")

    def read_rest(self) -> str:
        assert self.process.stdout is not None
        rest = self.process.stdout.read()
        self.process.wait(PATIENCE)
        self.seen += rest
        return rest

    def complaints(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def pids(self) -> Mapping[str, int]:
        """The process of each worker, as was last told."""
        told = re.findall(r"(worker-\d) (?:\(.*?\) is|starts again as) process (\d+)", self.seen)
        return {name: int(pid) for name, pid in told}


@contextmanager
def demo(*words: str, **changes: str) -> Generator[Pipe]:
    """One that goes on meanwhile. It is a job of its own, as a shell would start it, and ends with the block."""
    process = subprocess.Popen(
        [*DEMO, "--seconds", str(PATIENCE), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**changes),
        process_group=0,
    )
    with process:
        try:
            yield Pipe(process)
        finally:
            process.kill()


@dataclass
class Terminal:
    """A demo on a pseudo-terminal, and all it has written there."""

    process: subprocess.Popen[bytes]
    master: int
    seen: str = ""

    def read_until(self, is_enough: Callable[[str], object]) -> str:
        give_up_at = time.monotonic() + PATIENCE
        while not is_enough(self.seen):
            ready, _, _ = select.select([self.master], [], [], max(give_up_at - time.monotonic(), 0))
            assert ready, f"nothing more came: {self.seen[-2000:]!r}"
            self.seen += os.read(self.master, 65536).decode(errors="ignore")
        return self.seen

    def read_summary(self) -> str:
        return self.read_until(lambda text: GOOD.search(text) or "something went wrong" in text)

    def press_ctrl_c(self) -> None:
        os.write(self.master, b"\x03")


@contextmanager
def demo_on_terminal(*words: str, columns: int = 80, **changes: str) -> Generator[Terminal]:
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    process = subprocess.Popen(
        [sys.executable, "-c", ON_ITS_TERMINAL, *DEMO, *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(**changes),
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(master)
