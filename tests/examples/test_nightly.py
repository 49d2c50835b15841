"""The example of the nightly job tells the truth: it is run as a reader would run it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "nightly.py"


def test_a_killed_process_is_replaced_and_every_night_is_done_once() -> None:
    done = subprocess.run([sys.executable, "-W", "error", EXAMPLE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    begun = [re.fullmatch(r"night (\d): (\d+) begins, attempt (\d), fence (\d+)", line) for line in lines]
    told = [(match[1], match[3]) for match in begun if match]
    assert told == [("1", "1"), ("2", "1"), ("2", "2"), ("3", "1")]
    [killed] = [match[1] for line in lines if (match := re.fullmatch(r"night 2: (\d+) is killed", line))]
    assert [re.sub(r"\d{2,}", "N", line) for line in lines[-5:]] == [
        "ok, attempt 1: closed by N",
        "lost, attempt 1: its node did not renew it in time",
        "ok, attempt 2: closed by N",
        "ok, attempt 1: closed by N",
        "3 nights, each done once, with fences that rise: True",
    ]
    assert not lines[-3].endswith(killed)
