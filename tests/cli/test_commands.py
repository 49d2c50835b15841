"""The front door of the command line."""

import subprocess
import sys

import dibs


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "dibs", *words], capture_output=True, text=True, check=False)


def test_version_goes_to_stdout() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dibs {dibs.__version__}\n", "")


def test_help_says_what_dibs_is_which_commands_there_are_and_what_the_exit_codes_mean() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "exactly one machine does it" in done.stdout
    assert "demo" in done.stdout
    assert "exit codes:\n  0   " in done.stdout
    assert "\n  69  the store cannot be reached\n" in done.stdout


def test_an_unknown_command_is_a_usage_error() -> None:
    done = run("fly")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: dibs ")
    assert "fly" in done.stderr


def test_no_command_at_all_is_answered_with_the_help() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert "commands:" in done.stderr


def test_the_version_costs_no_asyncio() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "dibs", "--version"], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "argparse" in imported
    assert "asyncio" not in imported


def test_a_reader_that_goes_away_is_no_reason_for_a_traceback() -> None:
    words = [sys.executable, "-m", "dibs", "demo", "--seconds", "30"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("0.0s: ")
        process.stdout.close()
        assert process.stderr.read() == ""
