"""The units of systemd fit one another, the application, and what dibs asks of a node's end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deploy.manifests import DEPLOY, seconds, unit

FOLDER = DEPLOY / "systemd"
NODE, TARGET = FOLDER / "dibs-node@.service", FOLDER / "dibs-nodes.target"
SWITCHES = (
    *("DynamicUser", "LockPersonality", "NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectClock"),
    *("ProtectControlGroups", "ProtectHome", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules"),
    *("ProtectKernelTunables", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID"),
)
KNOWN = {
    "Unit": {"Description", "Wants", "After", "PartOf", "StartLimitIntervalSec"},
    "Service": {
        *("Type", "WorkingDirectory", "ExecStart", "Environment", "EnvironmentFile", "RuntimeDirectory"),
        *("RuntimeDirectoryMode", "KillMode", "KillSignal", "TimeoutStopSec", "Restart", "RestartSec", "UMask"),
        *("CapabilityBoundingSet", "ProtectSystem", "RestrictAddressFamilies", "SystemCallArchitectures"),
        *("SystemCallFilter", *SWITCHES),
    },
    "Install": {"WantedBy"},
}


def said(section: str, key: str, file: Path = NODE) -> str:
    [value] = unit(file)[section][key]
    return value


@pytest.mark.parametrize("file", [NODE, TARGET], ids=lambda file: file.name)
def test_a_unit_has_only_sections_and_keys_that_systemd_knows_each_once(file: Path) -> None:
    for section, keys in unit(file).items():
        assert keys.keys() <= KNOWN[section]
        assert [key for key, values in keys.items() if len(values) > 1] == []


def test_a_node_is_started_again_if_it_fails_however_often_and_not_if_it_was_ended() -> None:
    assert (said("Service", "Restart"), said("Unit", "StartLimitIntervalSec")) == ("on-failure", "0")
    assert said("Service", "Type") == "exec"


def test_there_is_time_to_leave_before_a_node_is_killed() -> None:
    told = dict(pair.split("=", 1) for pair in said("Service", "Environment").split())
    assert seconds(said("Service", "TimeoutStopSec")) > seconds(told["NODE_GRACE"]) + 3
    assert (said("Service", "KillSignal"), said("Service", "KillMode")) == ("SIGTERM", "mixed")


def test_each_node_has_a_socket_of_its_own_in_a_folder_that_it_may_write_to() -> None:
    told = dict(pair.split("=", 1) for pair in said("Service", "Environment").split())
    assert told["NODE_SOCKET"] == f"%t/{said('Service', 'RuntimeDirectory')}/node.sock"
    assert "%i" in said("Service", "RuntimeDirectory")


def test_a_node_may_do_no_more_than_it_needs() -> None:
    assert {said("Service", switch) for switch in SWITCHES} == {"yes"}
    assert (said("Service", "ProtectSystem"), said("Service", "CapabilityBoundingSet")) == ("strict", "")
    assert "AF_UNIX" in said("Service", "RestrictAddressFamilies").split()


def test_the_target_gathers_the_nodes() -> None:
    assert said("Unit", "PartOf") == said("Install", "WantedBy") == TARGET.name
    assert said("Install", "WantedBy", TARGET) == "multi-user.target"


def test_what_is_started_is_a_module_of_the_application() -> None:
    python, flag, module = said("Service", "ExecStart").split()
    assert python == f"{said('Service', 'WorkingDirectory')}/venv/bin/python"
    assert flag == "-m"
    assert (DEPLOY / f"{module.replace('.', '/')}.py").is_file()


def test_what_nodes_are_told_is_a_list_of_variables_at_the_place_that_the_unit_names() -> None:
    lines = (FOLDER / "node.env").read_text("utf-8").splitlines()
    assert said("Service", "EnvironmentFile") in lines[0]
    assert [line for line in lines[1:] if not re.fullmatch(r"(REDIS|DIBS)_[A-Z_]+=\S+", line)] == []
