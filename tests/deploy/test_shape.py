"""The checker of shapes finds what it is there for; and all YAML of deploy/ has the shape of its kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deploy import kinds
from tests.deploy.manifests import COMPOSE, KUBERNETES, UNITS, YAML, documents
from tests.deploy.shape import Shape, faults

SHAPE: Shape = {
    "name": re.compile("[a-z]+"),
    "mode?": {"fast", "slow"},
    "ports": [{"port": int}],
    "labels?": {"*": str},
}


def test_what_has_its_shape_has_no_faults() -> None:
    good = {"name": "a", "mode": "fast", "ports": [{"port": 1}], "labels": {"any": "text"}}
    assert not list(faults(good, SHAPE))


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ({"ports": [{"port": 1}]}, ".name is missing"),
        ({"name": "a", "ports": [{"port": 1}], "prots": 1}, ".prots is unknown"),
        ({"name": "A", "ports": [{"port": 1}]}, ".name: 'A' is not re.compile('[a-z]+')"),
        ({"name": "a", "ports": [{"port": 1}], "mode": "fsat"}, ".mode: 'fsat' is not"),
        ({"name": "a", "ports": []}, ".ports: [] is no list of at least one"),
        ({"name": "a", "ports": [{"port": 1}, {"port": True}]}, ".ports[1].port: True is not <class 'int'>"),
        ({"name": "a", "ports": [{"port": "1"}]}, ".ports[0].port: '1' is not <class 'int'>"),
        ({"name": "a", "ports": [1]}, ".ports[0]: 1 is no mapping"),
        ({"name": "a", "ports": [{"port": 1}], "labels": {"any": 1}}, ".labels.any: 1 is not <class 'str'>"),
    ],
)
def test_what_has_not_is_told_with_its_place(bad: object, fault: str) -> None:
    [found] = faults(bad, SHAPE)
    assert found.startswith(fault)


def test_a_key_that_is_said_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "twice.yaml").write_text("a: 1\nb: {c: 1, c: 2}\n")
    with pytest.raises(ValueError, match=r"line 2: \{'c'\} is said twice"):
        documents(tmp_path / "twice.yaml")


@pytest.mark.parametrize("file", KUBERNETES, ids=lambda file: file.name)
def test_each_object_for_kubernetes_has_the_shape_of_its_kind(file: Path) -> None:
    found = documents(file)
    assert found
    assert not [fault for each in found for fault in faults(each, kinds.wanted(each["kind"]), each["kind"])]


def test_the_peers_of_each_network_policy_have_their_shape() -> None:
    policies = [each for file in KUBERNETES for each in documents(file) if each["kind"] == "NetworkPolicy"]
    peers = [peer for each in policies for peer in each["spec"]["ingress"]]
    assert peers
    assert not [fault for peer in peers for fault in faults(peer, kinds.PEER)]


def test_compose_has_its_shape() -> None:
    [compose] = documents(COMPOSE)
    assert not list(faults(compose, kinds.COMPOSE))


@pytest.mark.parametrize("file", [*YAML, *UNITS], ids=lambda file: file.name)
def test_each_file_begins_with_what_it_is_for(file: Path) -> None:
    first, *_ = file.read_text("utf-8").splitlines()
    assert re.fullmatch(r"# [A-Z`].{30,}[.:]", first), first
