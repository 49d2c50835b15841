"""Programs that die, or stand still for too long, at the worst of moments."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs import Dibs
from dibs.runtime.clock import boottime
from tests.chaos.cast import die_before_telling, die_in_a_write, take_a_turn, work_for_ever, write_late
from tests.chaos.colours import BOTH
from tests.chaos.resource import Resource
from tests.chaos.stage import Actor, Stage

TTL = 1.0
LATE = 1.0
"""How long after its TTL a dead holder's lock may be without a new one."""


@pytest.mark.parametrize("kind", BOTH)
def test_a_killed_holder_is_followed_when_its_ttl_is_over(stage: Stage, url: str, kind: str) -> None:
    holder = stage.start(take_a_turn, kind, url, "a", TTL)
    [fence, _] = holder.hear("in")
    waiter = stage.start(take_a_turn, kind, url, "a", 30)
    waiter.hear("waits")
    holder.kill()
    is_in_time(waiter, fence)
    waiter.tell("release")
    waiter.ends()


def is_in_time(waiter: Actor, fence: int) -> None:
    """It is the next one, soon after the TTL of the holder who has just died."""
    died_at = boottime()
    [next_fence, in_at] = waiter.hear("in")
    assert in_at < died_at + TTL + LATE
    assert next_fence > fence


@pytest.mark.parametrize("kind", BOTH)
def test_when_holder_and_first_waiter_die_together_the_second_waiter_is_next(stage: Stage, url: str, kind: str) -> None:
    holder = stage.start(take_a_turn, kind, url, "a", TTL)
    [fence, _] = holder.hear("in")
    first, second = (stage.start(take_a_turn, kind, url, "a", 30), stage.start(take_a_turn, kind, url, "a", 30))
    first.hear("waits")
    second.hear("waits")
    holder.kill()
    first.kill()
    is_in_time(second, fence)


def test_a_lock_given_back_passes_over_a_dead_waiter(stage: Stage, url: str) -> None:
    holder = stage.start(take_a_turn, "blocking", url, "a", 60)
    holder.hear("in")
    first = stage.start(take_a_turn, "asyncio", url, "a", 60)
    first.hear("waits")
    second = stage.start(take_a_turn, "blocking", url, "a", 60)
    second.hear("waits")
    first.kill()
    holder.tell("release")
    second.hear("in", within=10)  # long before any TTL is over


def test_a_holder_stopped_for_too_long_can_do_no_harm_when_it_goes_on(
    stage: Stage, url: str, d: Dibs, tmp_path: Path
) -> None:
    resource = Resource(tmp_path / "resource")
    late = stage.start(write_late, url, "a", TTL, str(tmp_path / "resource"))
    [fence] = late.hear("in")
    late.stop()
    lease = d.lock("a", ttl=30, wait=TTL + LATE).acquire()
    assert lease.fence > fence
    resource.write(lease.fence, "ours")
    late.go_on()
    late.tell("go on")
    assert late.hear("ensure") == ["LeaseLost"]
    assert late.hear("write") == ["StaleFence"]
    assert late.hear("release") == ["LeaseLost"]
    assert late.hear("told") == [True]
    late.ends()
    lease.ensure()
    [view] = d.locks()
    assert view.held is not None
    assert (view.name, view.held.fence) == ("a", lease.fence)
    assert resource.contents().value == "ours"
    assert resource.contents().refused == 1
    lease.release()
    assert not d.locks()


def test_an_async_body_stopped_for_too_long_is_cancelled_when_it_goes_on(stage: Stage, url: str, d: Dibs) -> None:
    late = stage.start(work_for_ever, url, "a", TTL)
    [fence] = late.hear("in")
    late.stop()
    lease = d.lock("a", ttl=30, wait=TTL + LATE).acquire()
    late.go_on()
    assert late.hear("lost") == [fence]
    late.ends()
    lease.ensure()
    lease.release()


@pytest.mark.parametrize("kind", BOTH)
def test_a_holder_killed_before_it_could_tell_the_next_costs_no_more_than_its_ttl(
    stage: Stage, url: str, kind: str
) -> None:
    holder = stage.start(die_before_telling, url, "a", TTL)
    [fence] = holder.hear("in")
    waiter = stage.start(take_a_turn, kind, url, "a", 30)
    waiter.hear("waits")
    holder.tell("release")
    holder.dies()
    is_in_time(waiter, fence)


def test_a_holder_killed_in_the_middle_of_a_write_has_not_written(stage: Stage, url: str, d: Dibs) -> None:
    holder = stage.start(die_in_a_write, url, "a", 60)
    [fence] = holder.hear("in")
    holder.tell("release")
    holder.dies()
    held = d.inspect("a").held
    assert held is not None
    assert held.fence == fence
    assert d.force_release("a", fence=fence)
    lease = d.lock("a", wait=10).acquire()
    assert lease.fence > fence
    lease.release()
