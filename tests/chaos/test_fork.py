"""Forks: neither side harms the other, and both go on working."""

from __future__ import annotations

import pytest

from dibs import Dibs
from dibs.runtime.clock import boottime
from tests.chaos import forks
from tests.chaos.cast import take_a_turn
from tests.chaos.colours import BOTH
from tests.chaos.stage import Stage

TTL = 1.0
LATE = 1.0


def test_a_client_made_before_a_fork_works_in_the_children_and_in_the_parent(stage: Stage, url: str) -> None:
    program = stage.start(forks.connect_before_forking, url)
    assert program.hear("children") == [True]
    assert program.hear("parent") == [True]
    program.ends()


def test_a_child_can_neither_trust_nor_extend_nor_release_its_parent_s_leases(stage: Stage, url: str, d: Dibs) -> None:
    program = stage.start(forks.hold_before_forking, url, TTL)
    for _ in range(2):
        assert program.hear("child") == [True, "LeaseLost", "LeaseLost", "LeaseLost"]
        assert program.hear("child") == ["LeaseLost"]
    [fence] = program.hear("in")
    held = d.inspect("of the parent").held
    assert held is not None
    assert held.fence == fence
    program.tell("go on")
    assert program.hear("parent") == [True]
    program.ends()
    assert not d.locks()


def test_a_child_that_ends_like_any_program_gives_back_its_own_and_not_its_parent_s(stage: Stage, url: str) -> None:
    program = stage.start(forks.leave_a_fork_by_the_door, url)
    assert program.hear("parent") == ["held", "free"]
    program.ends()


def test_a_killed_parent_is_dead_to_the_others_though_its_children_live(stage: Stage, url: str, d: Dibs) -> None:
    """Nobody renews its leases, and its places in queues are passed over."""
    mine = d.lock("a", ttl=60).acquire()
    parent = stage.start(forks.be_outlived, url, "a", TTL)
    parent.hear("waits")
    parent.hear("waits")
    parent.tell("fork")
    parent.hear("child")
    waiter = stage.start(take_a_turn, "blocking", url, "a", 60)
    waiter.hear("waits")
    parent.kill()
    killed_at = boottime()
    mine.release()
    waiter.hear("in", within=10)  # long before its tickets' TTL is over
    lease = d.lock("a held", wait=10).acquire()
    assert boottime() < killed_at + TTL + LATE
    lease.release()


@pytest.mark.parametrize("kind", BOTH)
def test_children_that_come_and_go_leave_their_parent_s_waiters_to_be_found(
    stage: Stage, url: str, d: Dibs, kind: str
) -> None:
    mine = d.lock("a", ttl=60).acquire()
    parent = stage.start(forks.wait_while_children_come_and_go, kind, url, "a")
    parent.hear("waits")
    parent.tell("fork")
    assert parent.hear("forked") == [True]
    mine.release()
    parent.hear("in", within=10)  # long before it would ask by itself, after a third of its TTL
    parent.ends()


def test_a_parent_that_begins_to_wait_after_its_children_have_gone_is_found(stage: Stage, url: str, d: Dibs) -> None:
    mine = d.lock("a", ttl=60).acquire()
    parent = stage.start(forks.wait_when_children_have_gone, url, "a")
    assert parent.hear("forked") == [True]
    parent.hear("waits")
    mine.release()
    parent.hear("in", within=10)
    parent.ends()


def test_a_fork_within_an_event_loop_disturbs_neither_its_tasks_nor_the_child(stage: Stage, url: str, d: Dibs) -> None:
    mine = d.lock("a", ttl=60).acquire()
    program = stage.start(forks.fork_from_a_loop, url, "a")
    program.hear("waits")
    program.tell("fork")
    assert program.hear("forked") == [True]
    mine.release()
    program.hear("in", within=10)
    program.ends()


def test_a_fork_waits_for_other_threads_to_end_their_transactions(stage: Stage, url: str, d: Dibs) -> None:
    program = stage.start(forks.fork_beside_busy_threads, url, 5)
    assert program.hear("forked") == [10]
    program.ends()
    assert not d.locks()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_the_standard_library_work_beside_their_parent(stage: Stage, url: str, method: str) -> None:
    program = stage.start(forks.use_multiprocessing, url, method)
    assert program.hear("done") == [[0, 0, 0]]
    program.ends()


def test_a_child_may_fork_again(stage: Stage, url: str, d: Dibs) -> None:
    program = stage.start(forks.fork_generations, url)
    assert program.hear("child") == [True]
    program.ends()
    assert not d.locks()


def test_a_fork_in_the_middle_of_a_write_leaves_the_child_without_a_store_and_says_so(
    stage: Stage, url: str, d: Dibs
) -> None:
    program = stage.start(forks.fork_in_a_write, url)
    [word] = program.hear("word")
    assert url in word
    assert "forked while it was open" in word
    assert program.hear("child") == [True]
    program.hear("in")
    program.ends()
    assert not d.locks()


def test_a_fork_while_the_file_is_opened_leaves_the_child_without_a_store_too(stage: Stage, url: str) -> None:
    program = stage.start(forks.fork_while_it_is_opened, url)
    [word] = program.hear("word")
    assert "forked while it was open" in word
    assert program.hear("child") == [True]
    program.ends()


def test_a_child_has_none_of_its_parent_s_sockets_and_files(stage: Stage, url: str) -> None:
    program = stage.start(forks.show_what_a_child_inherits, url)
    assert program.hear("inherited") == [[]]
    program.ends()
