"""Forked children: they neither keep the server for a parent that has left, nor take the parent's share away."""

from __future__ import annotations

from tests.chaos.stage import Stage
from tests.stores.embedded.household import Household, SlowServer, all_end
from tests.stores.embedded.roles import (
    fork_while_it_starts,
    have_a_child_that_closes,
    leave_a_child_behind,
    outlive_a_parent,
)


def test_children_do_not_keep_the_server_for_their_parent(house: Household, stage: Stage) -> None:
    program = stage.start(leave_a_child_behind, str(house.folder))
    program.hear("out")
    house.ends()
    program.tell("end")
    program.ends()


def test_a_child_that_closes_or_ends_leaves_the_parent_its_share(house: Household, stage: Stage) -> None:
    program = stage.start(have_a_child_that_closes, str(house.folder))
    program.hear("in")
    program.tell("leave")
    program.ends()


def test_a_child_can_take_a_share_of_its_own_and_outlive_its_parent(house: Household, stage: Stage) -> None:
    program = stage.start(outlive_a_parent, str(house.folder))
    program.hear("forked")
    program.tell("child")
    [server] = program.hear("child in")
    program.kill()
    assert house.server() == server
    everybody = house.members()
    program.tell("leave")
    program.hear("child out")
    all_end(everybody)
    program.tell("end")


def test_a_child_made_while_the_server_starts_has_none_of_its_locks(
    house: Household, stage: Stage, slow: SlowServer
) -> None:
    program = stage.start(fork_while_it_starts, str(house.folder), str(slow.program))
    slow.starts()
    program.tell("fork")
    assert program.hear("forked") == [[]]
    slow.goes_on()
    program.hear("out")
    house.ends()
    program.tell("end")
    program.ends()
