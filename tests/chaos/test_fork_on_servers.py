"""A process forks that follows sentinels, or the map of a cluster."""

from __future__ import annotations

import pytest

import dibs
from tests.chaos import forks
from tests.chaos.stage import Stage
from tests.servers.cluster import Cluster
from tests.servers.sentinels import House

TTL = 2.0


@pytest.fixture(params=["sentinel", "cluster"])
def several(request: pytest.FixtureRequest) -> str:
    """The URL of several servers."""
    found: House | Cluster = request.getfixturevalue(
        "shared_house" if request.param == "sentinel" else "shared_cluster"
    )
    found.flush()
    return found.url


@pytest.mark.thorough
def test_a_client_made_before_a_fork_finds_its_servers_in_the_children_and_in_the_parent(
    stage: Stage, several: str
) -> None:
    program = stage.start(forks.connect_before_forking, several)
    assert program.hear("children") == [True]
    assert program.hear("parent") == [True]
    program.ends()


@pytest.mark.thorough
def test_a_child_follows_anew_and_leaves_its_parent_s_leases_alone(stage: Stage, several: str) -> None:
    program = stage.start(forks.hold_before_forking, several, TTL)
    for _ in range(2):
        assert program.hear("child") == [True, "LeaseLost", "LeaseLost", "LeaseLost"]
        assert program.hear("child") == ["LeaseLost"]
    [fence] = program.hear("in")
    with dibs.connect(several, quiet=True) as d:
        held = d.inspect("of the parent").held
        assert held is not None
        assert held.fence == fence
        program.tell("go on")
        assert program.hear("parent") == [True]
        program.ends()
        assert not d.locks()
