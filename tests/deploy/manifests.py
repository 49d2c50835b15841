"""The files of deploy/, read the way the programs they are for read them, and a little stricter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.stage import ROOT

yaml: Any = pytest.importorskip("yaml", reason="no PyYAML on this machine")

DEPLOY = ROOT / "deploy"
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
COMPOSE = DEPLOY / "compose.yaml"
YAML = [*KUBERNETES, COMPOSE]
UNITS = sorted((DEPLOY / "systemd").glob("*.*"))
PASSWORD = "change-me"  # noqa: S105 - to be replaced by whoever deploys


class OnceEach(yaml.SafeLoader):  # type: ignore[misc] # what PyYAML is, mypy is not told
    """Refuses a key that is said twice, of which PyYAML would take the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"line {node.start_mark.line + 1}: {twice} is said twice")
        read: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return read


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.load_all(file.read_text("utf-8"), OnceEach))


def objects(kind: str) -> list[dict[str, Any]]:
    """All of a kind that Kubernetes is told of."""
    return [each for file in KUBERNETES for each in documents(file) if each["kind"] == kind]


def only(kind: str) -> dict[str, Any]:
    [found] = objects(kind)
    return found


def pod(kind: str) -> dict[str, Any]:
    """The pods that the only object of this kind makes."""
    template: dict[str, Any] = only(kind)["spec"]["template"]
    return template


def container(kind: str) -> dict[str, Any]:
    [found] = pod(kind)["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def services() -> dict[str, Any]:
    [compose] = documents(COMPOSE)
    found: dict[str, Any] = compose["services"]
    return found


def unit(file: Path) -> dict[str, dict[str, list[str]]]:
    """What a unit says: by section and key, all values, as a key may be said more than once."""
    sections: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in file.read_text("utf-8").splitlines():
        if named := re.fullmatch(r"\[(\w+)\]", line):
            section = sections.setdefault(named[1], {})
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, line
            section.setdefault(key, []).append(value)
    return sections


def seconds(duration: str) -> float:
    """As in 45s: the only unit that these files use."""
    number = re.fullmatch(r"(\d+)s", duration)
    assert number, f"{duration!r} is not a number of seconds"
    return float(number[1])


def questions() -> Iterator[list[str]]:
    """All that probes, hooks and health checks call in the application's image."""
    node = container("Deployment")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        yield node[probe]["exec"]["command"]
    yield node["lifecycle"]["preStop"]["exec"]["command"]
    yield services()["node"]["healthcheck"]["test"][1:]
