"""`dibs demo` as people meet it: piped, on a terminal, ended by Ctrl-C, and told nonsense."""

import re
import signal

import pytest

from tests.cli.audience import BRIEF, GOOD, PATIENCE, demo, demo_on_terminal, see


def test_a_piped_demo_prints_a_line_a_second_and_then_the_proof() -> None:
    done = see("--seconds", "2.5s")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^0\.0s: worker-1 \(by 'with'\) is process \d+$", done.stdout, re.MULTILINE)
    assert re.search(r"^0\.0s: worker-2 \(by 'async with'\) is process \d+$", done.stdout, re.MULTILINE)
    assert re.search(r"^1\.\ds: \d+ hand-overs/s, demo:counter .*, fence \d{16}, \d+ writes", done.stdout, re.MULTILINE)
    assert "\x1b" not in done.stdout
    assert re.search(r"^turns +[\d,]+ in [23]\.\ds, by 4 processes$", done.stdout, re.MULTILINE)
    assert re.search(r"^overlaps +0$", done.stdout, re.MULTILINE)
    assert GOOD.search(done.stdout)


def test_a_killed_holder_is_replaced_a_paused_one_is_refused_and_each_second_s_job_is_done_once_all_the_same() -> None:
    with demo() as audience:
        dead = audience.read_until(r"(worker-\d) killed, holding demo:counter")[1]
        found = audience.read_until(r"(worker-\d) took over (\d\.\d\d)s later; (worker-\d) starts again as process \d+")
        assert (found[1] != dead, found[3]) == (True, dead)
        assert 0.1 < float(found[2]) < 5
        paused = audience.read_until(r"(worker-\d) paused, holding demo:counter")[1]
        assert audience.read_until(r"took over .* later; (worker-\d) goes on, too late")[1] == paused
        audience.read_until(r"stale refused [1-9]")
        audience.process.send_signal(signal.SIGINT)
        rest = audience.read_rest()
        assert audience.process.returncode == 0, rest
    assert re.search(r"^killed, taken over +1 \(the slowest after \d\.\d\ds; the TTL was 1s\)$", rest, re.MULTILINE)
    assert re.search(r"^paused, taken over +1 ", rest, re.MULTILINE)
    assert re.search(r"^stale writes refused +[1-9]", rest, re.MULTILINE)
    job = re.search(r"^once-a-second job +(\d+) due, (\d+) done, 0 twice, 0 missed", rest, re.MULTILINE)
    assert job is not None, rest
    assert int(job[1]) == int(job[2]) > 2
    assert GOOD.search(rest)


def test_on_a_terminal_it_redraws_in_place_until_ctrl_c_and_shows_the_cursor_again() -> None:
    with demo_on_terminal() as terminal:
        terminal.read_until(lambda text: re.search(r"worker-\d killed, free in \d", text))
        terminal.press_ctrl_c()
        seen = terminal.read_summary()
        assert terminal.process.wait(PATIENCE) == 0
    assert re.search(r"counter   held by worker-\d, \d waiting", seen)
    assert re.search(r"ticks     [1-9], \d\d:\d\d:\d\d by worker-\d", seen)
    assert re.search(r"fence     \d{16}", seen)
    assert re.search(r"\x1b\[2\dF", seen), "the cursor goes back to the first line"
    assert "\x1b[1mdibs demo" in seen
    assert seen.index("\x1b[?25l") < seen.index("\x1b[?25h")
    assert "Traceback" not in seen


def test_a_second_ctrl_c_does_not_spoil_the_farewell() -> None:
    with demo_on_terminal() as terminal:
        terminal.read_until(lambda text: "overlaps" in text)
        terminal.press_ctrl_c()
        terminal.press_ctrl_c()
        assert GOOD.search(terminal.read_summary())
        assert terminal.process.wait(PATIENCE) == 0


def test_no_color_means_no_colour() -> None:
    with demo_on_terminal("--seconds", BRIEF, NO_COLOR="1") as terminal:
        seen = terminal.read_summary()
    assert "held by" in seen
    assert not re.search(r"\x1b\[\d*m", seen)


@pytest.mark.thorough
def test_no_line_of_the_screen_is_wrapped_on_a_narrow_terminal() -> None:
    with demo_on_terminal("--seconds", "1.5", columns=40) as terminal:
        screen, _, _ = terminal.read_summary().partition("\x1b[?25h")
    assert "worker-4" in screen
    lines = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", screen).splitlines()
    assert max(len(line) for line in lines) < 40


@pytest.mark.thorough
def test_a_dumb_terminal_gets_plain_lines() -> None:
    with demo_on_terminal("--seconds", "1.2", TERM="dumb") as terminal:
        seen = terminal.read_summary()
    assert re.search(r"1\.\ds: \d+ hand-overs/s", seen)
    assert "\x1b" not in seen


@pytest.mark.parametrize("nonsense", ["soon", "-3", "0", "nan", "1e3", "", "8 parsecs"])
def test_a_length_that_makes_no_sense_is_refused(nonsense: str) -> None:
    done = see("--seconds", nonsense)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: dibs demo" in done.stderr
    assert "error: argument --seconds: " in done.stderr
