"""What `import dibs`, and the first client, add to the start of a program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from tempfile import TemporaryDirectory

from bench.rounds import Row, interleaved

IMPORT, ADDED = "start with import dibs", "import dibs"

STARTS = {
    "start of bare Python": "pass",
    IMPORT: "import dibs",
    "start with a client": "import dibs; dibs.connect('memory://')",
}

THIRD_PARTY = """\
import sys
before = set(sys.modules)
import dibs
dibs.connect("memory://")
new = {name.partition(".")[0] for name in sys.modules.keys() - before}
print(*sorted(new - {"dibs"} - sys.stdlib_module_names))
"""


def rows(*, rounds: int) -> list[Row]:
    with TemporaryDirectory() as cache:
        # A cache of our own, so that it makes no difference who forbids bytecode or has just edited a file.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        python = partial(_python, {**kept, "PYTHONPYCACHEPREFIX": cache})
        contenders: dict[str, Callable[[], float]] = {
            name: partial(_timed, partial(python, script)) for name, script in STARTS.items()
        }
        for start in contenders.values():
            start()  # so that the bytecode is there
        told = {name: Row(name, took, "ms") for name, took in interleaved(contenders, rounds).items()}
        names = python(THIRD_PARTY).split()
    bare, *others = told.values()
    added = [after - before for after, before in zip(told[IMPORT].rounds, bare.rounds, strict=True)]
    third_party = Row("third-party modules imported", [len(names)], ", ".join(names) or "none")
    return [bare, *(other.beside(bare) for other in others), Row(ADDED, added, "ms"), third_party]


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1e3


def _python(environment: Mapping[str, str], script: str) -> str:
    words = [sys.executable, "-c", script]
    return subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout  # noqa: S603
