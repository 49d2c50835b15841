"""What deploy/README.md says is so: its links and files are there, and its figures are those of the files."""

from __future__ import annotations

import re

from tests.chaos.stage import ROOT
from tests.deploy.manifests import DEPLOY, YAML, container, pod, services, unit

PAGE = (DEPLOY / "README.md").read_text("utf-8")
COMMANDS = "\n".join(re.findall(r"```\n(.*?)```", PAGE, re.DOTALL))


def figure(row: str) -> int:
    [found] = re.findall(rf"^\| {re.escape(row)}.* \| (\d+) s \|", PAGE, re.MULTILINE)
    return int(found)


def test_its_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE)
    assert targets
    assert [target for target in targets if not (DEPLOY / target).exists()] == []


def test_its_commands_name_files_that_are_there_and_all_that_kubernetes_needs() -> None:
    named = set(re.findall(r"deploy/[\w/@.-]+", COMMANDS))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert {str(file.relative_to(ROOT)) for file in YAML} <= named


def test_its_figures_are_those_of_the_files() -> None:
    node, told = container("Deployment"), services()["node"]
    [environment] = [each["value"] for each in node["env"] if each["name"] == "NODE_GRACE"]
    assert {environment, told["environment"]["NODE_GRACE"]} == {f"{figure('the grace')}s"}
    assert node["lifecycle"]["preStop"]["exec"]["command"][-1] == str(figure("preStop"))
    assert pod("Deployment")["spec"]["terminationGracePeriodSeconds"] == figure("`terminationGracePeriodSeconds`")
    [stop] = unit(DEPLOY / "systemd" / "dibs-node@.service")["Service"]["TimeoutStopSec"]
    assert {stop, told["stop_grace_period"]} == {f"{figure('`stop_grace_period`')}s"}


def test_the_password_that_it_replaces_is_the_one_that_stands_there() -> None:
    secret = (DEPLOY / "kubernetes" / "secret.yaml").read_text("utf-8")
    [replaced] = re.findall(r"sed \"s/([\w-]+)/", COMMANDS)
    assert [line.count(replaced) for line in secret.splitlines() if replaced in line] == [1, 1], "sed does one a line"
