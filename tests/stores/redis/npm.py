"""node's redlock, fetched by npm into a folder for this run alone, and talked to a line at a time."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.chaos.moments import LONG, PAUSE

NO_NODE = "no node on this machine"
NO_REDLOCK = "npm cannot install redlock here"
PACKAGES = ("redlock@5.0.0-beta.2", "ioredis@5.11.1")
PROGRAM = Path(__file__).with_name("redlock.cjs")
PATIENCE = 60.0
"""How long npm may take."""


def missing(folder: Path) -> str | None:
    """Why redlock cannot be had here; `None` if it is in the folder, where the first who asks has put it."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return NO_NODE
    folder.mkdir(exist_ok=True)
    said = folder / "said.txt"
    with (folder / "once").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        if not said.exists():
            said.write_text(_install(folder))
    return NO_REDLOCK if said.read_text() else None


def _install(folder: Path) -> str:
    """What went wrong; nothing if all went well."""
    words = ["npm", "install", "--prefix", str(folder), "--prefer-offline", "--ignore-scripts", "--no-audit"]
    words += ["--no-fund", "--fetch-retries=0", *PACKAGES]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "it took too long"
    return done.stderr or "it failed" if done.returncode else ""


class Node:
    """The program with redlock in it, for all tests of one worker."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            ["node", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "NODE_PATH": str(folder / "node_modules")},
            text=True,
        )
        self._answers = SimpleQueue[str]()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def ask(self, *words: Any) -> bool:
        """What it says to a wish: yes, or that the lock is somebody else's."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._answers.get(timeout=2 * LONG))
        assert isinstance(answer, bool), answer
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LONG)
        self._listener.join(LONG)
        self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)


class Redlock:
    """`redlock.acquire` of node's redlock 5, on one server."""

    def __init__(self, node: Node, port: int, key: str) -> None:
        self._node, self._port, self._key = node, port, key

    def acquire(self, ttl: float) -> bool:
        return self._node.ask("acquire", self._port, self._key, round(ttl * 1000), 0)

    def wait(self, ttl: float) -> bool:
        return self._node.ask("acquire", self._port, self._key, round(ttl * 1000), round(LONG / PAUSE))

    def release(self) -> bool:
        return self._node.ask("release", self._port, self._key)

    def close(self) -> None:
        """The program goes on: it serves others."""
