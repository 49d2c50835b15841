"""What probes and hooks call is there, says how it is to be called, and says no where no node is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.deploy.manifests import DEPLOY, questions


def asked(*words: str, socket: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.ask", *words],
        capture_output=True,
        text=True,
        cwd=DEPLOY,
        env={**os.environ, "NODE_SOCKET": str(socket)},
        check=False,
    )


def test_all_that_probes_and_hooks_call_is_in_the_application() -> None:
    for python, flag, module, word, *waits in questions():
        assert (python, flag) == ("python", "-m")
        assert (DEPLOY / f"{module.replace('.', '/')}.py").is_file()
        assert word in {"live", "ready", "drain"}
        assert all(float(each) > 0 for each in waits)


def test_nothing_else_can_be_asked(tmp_path: Path) -> None:
    done = asked("dance", socket=tmp_path / "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert "live|ready|drain" in done.stderr


def test_where_no_node_is_the_answer_is_no(tmp_path: Path) -> None:
    done = asked("live", socket=tmp_path / "none")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("no: ")
    assert str(tmp_path / "none") in done.stdout


BY_ITSELF = """
import asyncio, sys, dibs
from app.node import Node

node = Node()
with dibs.connect("memory://", observers=[node]) as d:

    @d.every("1s")
    def leave() -> None:
        d.stop_serving()

    sys.exit(asyncio.run(node.serve(d)))
"""


def test_a_node_that_stops_to_serve_without_being_asked_ends_as_a_failure_to_be_started_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BY_ITSELF],
        capture_output=True,
        text=True,
        cwd=DEPLOY,
        env={**os.environ, "NODE_SOCKET": str(tmp_path / "node.sock")},
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
