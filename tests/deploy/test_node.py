"""The application of deploy/ is started, probed, drained and ended by the very commands that the manifests give."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.config.settings import ALL
from tests.chaos.stage import LONG
from tests.deploy.manifests import DEPLOY, PASSWORD, container, only, pod
from tests.deploy.test_rights import settings
from tests.servers.fixtures import on_valkey_9
from tests.servers.ports import HOST
from tests.servers.server import Server

pytestmark = on_valkey_9
READY, LIVE = container("Deployment")["readinessProbe"], container("Deployment")["livenessProbe"]
DRAIN = container("Deployment")["lifecycle"]["preStop"]


class Pod:
    """A node as Kubernetes would start it, in a folder of its own."""

    def __init__(self, store: Server, folder: Path) -> None:
        self._env = {**_without_settings(), **_told(), "REDIS_HOST": HOST, "REDIS_PORT": str(store.port)}
        self._env |= {"PYTHONPATH": str(DEPLOY), "NODE_SOCKET": str(folder / "node.sock"), "NODE_EVERY": "1s"}
        self._folder = folder
        self.process = subprocess.Popen(
            _here(container("Deployment")["command"]),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=self._env,
        )

    def hear(self, word: str) -> str:
        """Read what it says until it has said this."""
        assert self.process.stdout is not None
        said: list[str] = []
        for line in self.process.stdout:
            said.append(line)
            if word in line:
                return line
        raise AssertionError(f"it has ended without {word!r}: {''.join(said)}")

    def ask(self, command: list[str]) -> tuple[int, str]:
        """What a probe or a hook gets."""
        done = subprocess.run(
            _here(command), capture_output=True, text=True, cwd=self._folder, env=self._env, timeout=LONG, check=False
        )
        assert not done.stderr
        return done.returncode, done.stdout.strip()

    def probe(self, probe: dict[str, Any]) -> tuple[int, str]:
        return self.ask(probe["exec"]["command"])

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(LONG)


def _here(command: list[str]) -> list[str]:
    python, *words = command
    assert python == "python"
    return [sys.executable, *words]


def _without_settings() -> dict[str, str]:
    said = {variable for setting in ALL for variable in setting.variables}
    return {name: value for name, value in os.environ.items() if name not in said}


def _told() -> dict[str, str]:
    """The environment of the pods, with what it takes from the secret and from their metadata."""
    secret, metadata = only("Secret")["stringData"], pod("Deployment")["metadata"]
    told: dict[str, str] = {}
    for each in container("Deployment")["env"]:
        match each:
            case {"value": value}:
                told[each["name"]] = value
            case {"valueFrom": {"secretKeyRef": {"key": key}}}:
                told[each["name"]] = secret[key]
            case {"valueFrom": {"fieldRef": {"fieldPath": path}}}:
                field, _, key = path.removeprefix("metadata.").removesuffix("']").partition("['")
                told[each["name"]] = metadata[field][key]
            case _:
                raise AssertionError(f"{each} says nothing")
    return told


@pytest.fixture
def store(start_server: Callable[..., Server], tmp_path: Path) -> Server:
    (tmp_path / "users.acl").write_text(only("Secret")["stringData"]["users.acl"])
    return start_server(*settings(), f"aclfile {tmp_path / 'users.acl'}")


@pytest.fixture
def node(store: Server) -> Iterator[Pod]:
    with tempfile.TemporaryDirectory(prefix="dibs-node-", dir="/tmp") as folder:  # a socket wants a short path
        started = Pod(store, Path(folder))
        with started.process:
            try:
                yield started
            finally:
                started.process.kill()


def test_a_node_is_ready_once_the_fleet_has_heard_of_it_and_not_when_it_is_drained(node: Pod, store: Server) -> None:
    node.hear("tidying up")
    assert node.probe(LIVE) == (0, "yes")
    assert node.probe(READY) == (0, "yes: to the fleet it is up")
    with dibs.connect(store.url_of("dibs", PASSWORD), quiet=True) as d:
        [view] = d.nodes()
        assert (view.version, view.labels) == ("1.0", ("batch", "eu"))
        assert node.probe(DRAIN) == (0, "yes: it has left the fleet")
        assert [view.state for view in d.nodes()] == ["left"]
    assert node.probe(DRAIN) == (0, "yes: it has left the fleet")
    assert node.probe(READY) == (1, "no: it leaves the fleet")
    assert node.probe(LIVE) == (0, "yes")
    assert node.process.poll() is None
    assert node.end() == 0


def test_sigterm_alone_has_a_node_leave_the_fleet_and_end(node: Pod, store: Server) -> None:
    node.hear("tidying up")
    assert node.end() == 0
    with dibs.connect(store.url_of("dibs", PASSWORD), quiet=True) as d:
        assert [view.state for view in d.nodes()] == ["left"]


def test_a_node_whose_store_is_silent_is_not_ready_and_still_lives(node: Pod, store: Server) -> None:
    node.hear("tidying up")
    store.kill()
    code, said = node.probe(READY)
    assert (code, said[:4]) == (1, "no: ")
    assert node.probe(LIVE) == (0, "yes")
    store.start()
    node.hear("the store answers again")
    node.hear("tidying up")
    assert node.probe(READY)[0] == 0


def test_a_node_that_was_killed_is_not_alive(node: Pod) -> None:
    node.hear("tidying up")
    node.process.kill()
    node.process.wait(LONG)
    code, said = node.probe(LIVE)
    assert (code, said[:4]) == (1, "no: ")
