"""The example tells the truth: it is run as a reader would run it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "late_write.py"

STORY = r"""
1\. the first holder has fence (?P<first>\d+), and reads that there are 10
2\. the first holder is paused, and renews nothing: its lock ends after 2s
3\. the second holder waited (?P<waited>[\d.]+)s, has fence (?P<second>\d+), and sells 7 of 10
4\. the first holder wakes up, and does not know that it has slept
5\. it writes 9 where nobody looks at fences: accepted
   it writes 9 where the fence is looked at: refused\.
   a write to 'stock' with fence (?P=first) was refused: (?P=second) has written since\..*
6\. without a fence the stock is 9: seven sold pieces are back on the shelf
   with the fence it is 3, as it should be
"""


def test_a_paused_holder_s_late_write_is_refused_by_the_fence_and_made_without_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    story = re.fullmatch(STORY.lstrip(), done.stdout)
    assert story, done.stdout
    assert int(story["first"]) < int(story["second"])
    assert float(story["waited"]) > 0
    assert not list(tmp_path.iterdir())
