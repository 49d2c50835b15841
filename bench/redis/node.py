"""node's redlock over ioredis, which npm has put into a folder beside the venv of the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from bench.crew import Meet
from bench.redis.cycling import WARM_UP, Cycles

MODULES = Path(sys.prefix) / "node" / "node_modules"
PACKAGES = ("redlock", "ioredis")
PROGRAM = Path(__file__).with_name("redlock.cjs")


class NodeFailed(Exception):
    """It said something else than what came of its cycles."""


def is_here() -> bool:
    """Whether node is, and what npm has to get for it."""
    return shutil.which("node") is not None and all((MODULES / package).is_dir() for package in PACKAGES)


def versions() -> Sequence[str]:
    """Name and version of each, if all are here."""
    if not is_here():
        return []
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)  # noqa: S607
    return [f"node {node.stdout.strip().removeprefix('v')}", *(f"{name} {_version(name)}" for name in PACKAGES)]


def cycle(ports: int | Sequence[int], tasks: int, span: float, number: int, meet: Meet) -> Cycles:
    """A part: so many tasks on one client, in a process of its own that ends when we hang up."""
    wish = {
        "ports": [ports] if isinstance(ports, int) else [*ports],
        "tasks": tasks,
        "warmUp": span * WARM_UP,
        "span": span,
    }
    with subprocess.Popen(  # noqa: S603
        ["node", str(PROGRAM)],  # noqa: S607
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "NODE_PATH": str(MODULES)},
        text=True,
    ) as node:
        ask, answer = cast("IO[str]", node.stdin), cast("IO[str]", node.stdout)
        ask.write(json.dumps(wish) + "\n")
        ask.flush()
        said = answer.readline()
        ask.close()
        return _cycles(said + answer.read())


def _cycles(said: str) -> Cycles:
    try:
        told = json.loads(said)
    except ValueError:
        raise NodeFailed(said) from None
    return Cycles.of(told["waits"], elapsed=told["elapsed"], used=told["used"])


def _version(package: str) -> str:
    version: str = json.loads((MODULES / package / "package.json").read_text("utf-8"))["version"]
    return version
