"""Looking at locks, and taking one from its holder."""

from __future__ import annotations

import pytest

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.events import Evicted, Lost, StoreRisky
from dibs.flows.hold import EVICTED
from dibs.flows.overseeing import check_up, evict, held, inspect
from dibs.model.asks import Said
from dibs.model.request import PATIENCE, Request
from dibs.ports.store import Command
from tests.flows.scripted import REFUSED, Process, Scene

REQUEST = Request("a", 30.0, purpose="report")


def test_a_lock_is_seen_as_it_stands(scene: Scene, ann: Process, bob: Process) -> None:
    hold = ann.holds(REQUEST)
    scene.spawn(ann.acquires(REQUEST))
    scene.until(1.0)
    seen = scene.play(inspect(bob.world, bob.desk, "a"))
    assert seen.held is not None
    assert (seen.name, seen.state, seen.held.fence, seen.held.who) == ("a", "held", hold.fence, "ann")
    assert [waiter.who for waiter in seen.waiters] == ["ann"]


def test_a_free_lock_can_be_looked_at_too(scene: Scene, bob: Process) -> None:
    assert scene.play(inspect(bob.world, bob.desk, "a")).state == "free"


def test_all_that_is_held_is_listed_by_name_and_up_to_a_limit(scene: Scene, ann: Process, bob: Process) -> None:
    for name in ("b2", "a", "b1", "b3"):
        ann.holds(Request(name, 30.0))
    seen = scene.play(held(bob.world, bob.desk, prefix="b", limit=2))
    assert [lock.name for lock in seen] == ["b1", "b2"]


def test_a_lock_is_taken_from_the_holder_that_was_seen(scene: Scene, ann: Process, bob: Process) -> None:
    hold = ann.holds(REQUEST)
    ann.start_keeper()
    answer = scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason="stuck"))
    assert answer is Said.EVICTED
    assert bob.events == [Evicted("a", hold.fence, "stuck")]
    scene.until(0.0)
    assert ann.told(Lost) == [Lost("a", hold.fence, EVICTED)]


def test_a_lock_that_changed_hands_is_left_alone(scene: Scene, ann: Process, bob: Process) -> None:
    hold = ann.holds(REQUEST)
    assert scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence - 1, reason="")) is Said.CHANGED
    assert (bob.events, hold.lost_because) == ([], None)


def test_a_free_lock_is_taken_from_nobody(scene: Scene, bob: Process) -> None:
    assert scene.play(evict(bob.world, bob.desk, "a", fence=1, reason="")) is Said.GONE
    assert bob.events == []


def test_a_silent_store_is_told_after_two_seconds(scene: Scene, bob: Process) -> None:
    bob.world.is_silent = True
    with pytest.raises(StoreUnreachable):
        scene.play(inspect(bob.world, bob.desk, "a"))
    assert scene.now == PATIENCE


def test_a_store_that_refuses_at_first_is_asked_again(scene: Scene, ann: Process, bob: Process) -> None:
    hold = ann.holds(REQUEST)
    for kind in ("inspect", "held", "evict"):
        bob.world.doom(kind, REFUSED)
    assert scene.play(inspect(bob.world, bob.desk, "a")).state == "held"
    assert [lock.name for lock in scene.play(held(bob.world, bob.desk, prefix="", limit=9))] == ["a"]
    assert scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason="stuck")) is Said.EVICTED
    assert bob.events == [Evicted("a", hold.fence, "stuck")]


def test_a_store_that_always_refuses_to_evict_is_told_and_nothing_is_said_of_an_eviction(
    scene: Scene, ann: Process, bob: Process
) -> None:
    hold = ann.holds(REQUEST)
    bob.world.doom("evict", *[REFUSED] * 20)
    with pytest.raises(StoreRefused):
        scene.play(evict(bob.world, bob.desk, "a", fence=hold.fence, reason="stuck"))
    assert (bob.events, hold.lost_because) == ([], None)


@pytest.mark.parametrize("findings", [(), ("it drops keys: tell it not to",)])
def test_what_may_cost_locks_is_told_if_there_is_anything(
    scene: Scene, bob: Process, monkeypatch: pytest.MonkeyPatch, findings: tuple[str, ...]
) -> None:
    monkeypatch.setattr(bob.desk.store, "checkup", lambda: Command(("time",), lambda _: findings))
    check_up(bob.world, bob.desk)
    assert bob.events == ([StoreRisky(bob.desk.server, findings)] if findings else [])


def test_a_store_that_needs_no_translation_has_nothing_to_tell(scene: Scene, bob: Process) -> None:
    check_up(bob.world, bob.desk)
    assert (bob.world.asks("time"), bob.events) == (["time"], [])
