"""`dibs demo` as people meet it: piped, on a terminal, ended by Ctrl-C, and told nonsense."""

import os
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

DEMO = (sys.executable, "-m", "dibs", "demo")
PATIENCE = 60.0
GOOD = re.compile(r"no two were inside at once: [\d,]+ writes, fences strictly rising")


def environment(**changes: str) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES", "CI")}
    return {**kept, "TERM": "xterm", **changes}


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


@contextmanager
def demo_on_terminal(*words: str, columns: int = 80, **changes: str) -> Generator[Terminal]:
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    process = subprocess.Popen(
        [*DEMO, *words], stdin=slave, stdout=slave, stderr=slave, env=environment(**changes), start_new_session=True
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(master)


def test_a_piped_demo_prints_a_line_a_second_and_then_the_proof() -> None:
    done = subprocess.run([*DEMO, "--seconds", "2.5s"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^1s: \d+ writes, \d+ hand-overs/s", done.stdout, re.MULTILINE)
    assert "\x1b" not in done.stdout
    assert re.search(r"^overlaps +0$", done.stdout, re.MULTILINE)
    assert GOOD.search(done.stdout)


def test_the_lock_of_one_who_died_is_taken_over_and_its_late_write_refused() -> None:
    with subprocess.Popen([*DEMO, "--seconds", "60"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if re.search(r"takeovers [1-9].* stale refused [1-9]", line):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0
    assert re.search(r"^takeovers +[1-9]\d* \(the slowest after \d", rest, re.MULTILINE)
    assert re.search(r"^stale writes refused +[1-9]", rest, re.MULTILINE)
    assert GOOD.search(rest)


def test_on_a_terminal_it_redraws_in_place_until_ctrl_c_and_shows_the_cursor_again() -> None:
    with demo_on_terminal() as terminal:
        terminal.read_until(lambda text: "dead: free in" in text)
        terminal.process.send_signal(signal.SIGINT)
        seen = terminal.read_summary()
        assert terminal.process.wait(PATIENCE) == 0
    assert re.search(r"held by   (thread|task)-\d", seen)
    assert re.search(r"fence     \d{16}", seen)
    assert "\x1b[20F" in seen, "the cursor goes back to the first line"
    assert "\x1b[1mdibs demo" in seen
    assert seen.index("\x1b[?25l") < seen.index("\x1b[?25h")
    assert "Traceback" not in seen


def test_a_second_ctrl_c_does_not_spoil_the_farewell() -> None:
    with demo_on_terminal() as terminal:
        terminal.read_until(lambda text: "overlaps" in text)
        terminal.process.send_signal(signal.SIGINT)
        terminal.process.send_signal(signal.SIGINT)
        assert GOOD.search(terminal.read_summary())
        assert terminal.process.wait(PATIENCE) == 0


def test_no_color_means_no_colour() -> None:
    with demo_on_terminal("--seconds", "1", NO_COLOR="1") as terminal:
        seen = terminal.read_summary()
    assert "held by" in seen
    assert not re.search(r"\x1b\[\d*m", seen)


def test_no_line_of_the_screen_is_wrapped_on_a_narrow_terminal() -> None:
    with demo_on_terminal("--seconds", "2.5", columns=40) as terminal:
        screen, _, _ = terminal.read_summary().partition("\x1b[?25h")
    assert "task-4" in screen
    lines = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", screen).splitlines()
    assert max(len(line) for line in lines) < 40


def test_a_dumb_terminal_gets_plain_lines() -> None:
    with demo_on_terminal("--seconds", "1.5", TERM="dumb") as terminal:
        seen = terminal.read_summary()
    assert "1s: " in seen
    assert "\x1b" not in seen


@pytest.mark.parametrize("nonsense", ["soon", "-3", "0", "nan", "1e3", "", "8 parsecs"])
def test_a_length_that_makes_no_sense_is_refused(nonsense: str) -> None:
    done = subprocess.run([*DEMO, "--seconds", nonsense], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: dibs demo" in done.stderr
    assert "error: argument --seconds: " in done.stderr
