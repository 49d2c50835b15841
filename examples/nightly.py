"""Three processes serve the same job. One is killed in the middle of a run, and another one takes it over.

Run it with `python examples/nightly.py`. It needs no server: the processes share a file. A night lasts three seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import dibs

NODES, NIGHTS = 3, 3
FATAL = 2
"""In this night, whoever has begun with the job is killed."""


def fleet(url: str) -> tuple[dibs.Dibs, dibs.Job[str]]:
    """A client of all the processes' store, and the job that they share."""
    d = dibs.connect(url, quiet=True)

    @d.every("3s", max_attempts=2, ttl="2s", overlap="queue")  # in earnest: @d.cron("0 3 * * *", tz="Europe/Berlin")
    def nightly(run: dibs.Run) -> str:
        print(os.getpid(), run.attempt, run.fence, flush=True)
        sys.stdin.readline()  # the work: here it lasts until the story goes on
        run.log.info("books closed")
        return f"closed by {os.getpid()}"

    return d, nightly


def main() -> int:
    """Start the processes, let some nights go by, and look at what was noted."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        url = f"sqlite:///{Path(folder) / 'jobs.sqlite'}"
        said, says = os.pipe()
        nodes = {each.pid: running.enter_context(each) for each in (started(url, says) for _ in range(NODES))}
        os.close(says)
        lines = running.enter_context(os.fdopen(said))
        for night in range(1, NIGHTS + 1):
            one_night(night, nodes, lines)
        for each in nodes.values():
            each.terminate()  # as a deployment does: they finish, and leave
        codes = [each.wait() for each in nodes.values()]
        d, nightly = fleet(url)
        with d:
            history = [view for view in nightly.history() if view.outcome in {"ok", "lost"}]
    for view in reversed(history):
        print(f"{view.outcome}, attempt {view.attempt}: {view.result or view.reason}")
    done = {view.tick for view in history if view.outcome == "ok"}
    fences = [view.fence or 0 for view in reversed(history)]
    print(f"{len(done)} nights, each done once, with fences that rise: {fences == sorted(fences)}")
    return 0 if len(done) == NIGHTS and fences == sorted(fences) and not any(codes) else 1


def one_night(night: int, nodes: dict[int, subprocess.Popen[str]], lines: Iterator[str]) -> None:
    """One of them begins; if it is killed, another one does."""
    pid, attempt, fence = map(int, next(lines).split())
    print(f"night {night}: {pid} begins, attempt {attempt}, fence {fence}")
    if night == FATAL:
        with nodes.pop(pid) as victim:
            victim.kill()
        print(f"night {night}: {pid} is killed")
        pid, attempt, fence = map(int, next(lines).split())
        print(f"night {night}: {pid} begins, attempt {attempt}, fence {fence}")
    its_pipe = nodes[pid].stdin
    assert its_pipe is not None
    its_pipe.write("\n")
    its_pipe.flush()


def started(url: str, says: int) -> subprocess.Popen[str]:
    """A process that serves; all of them speak into one pipe."""
    return subprocess.Popen([sys.executable, __file__, url], stdin=subprocess.PIPE, stdout=says, text=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        fleet(sys.argv[1])[0].serve()
    else:
        sys.exit(main())
