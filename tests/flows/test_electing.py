"""Standing for a lock until it is had, and giving it back in passing."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from dibs.errors import ClientClosed, ConfigError, LeaseLost
from dibs.events import Acquired, CampaignStalled, FoundBusy, JoinedQueue, Lost, Released
from dibs.flows.electing import campaign, step_down
from dibs.flows.hold import FORGOTTEN, Hold
from dibs.flows.locking import Denied, release
from dibs.model.asks import Leave
from dibs.model.request import PATIENCE, Request
from tests.flows.scripted import EPOCH, SILENT, Cancelled, Process, Scene

REQUEST = Request("a", 30.0)


def stands(process: Process) -> Coroutine[Any, Any, Hold]:
    return campaign(process.world, process.desk, "a", lambda: process.acquires(REQUEST))


class TestCampaigning:
    def test_who_stands_alone_is_elected_at_once(self, scene: Scene, ann: Process) -> None:
        hold = scene.play(stands(ann))
        assert ann.events == [Acquired("a", hold.fence, 0.0)]

    def test_the_next_is_elected_when_the_leader_leaves(self, scene: Scene, ann: Process, bob: Process) -> None:
        leader = scene.play(stands(ann))
        task = scene.spawn(stands(bob))
        scene.until(5.0)
        scene.play(release(ann.world, ann.desk, leader))
        hold = scene.finish(task)
        assert hold.fence > leader.fence
        assert (hold.waited, scene.now) == (5.0, 5.0)

    def test_silence_is_told_once_and_waited_out(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        task = scene.spawn(stands(ann))
        scene.until(60.0)
        assert ann.events == [CampaignStalled("a", "memory://scene", "no answer")]
        ann.world.is_silent = False
        hold = scene.finish(task)
        assert scene.now < 60.0 + PATIENCE + 1.0
        assert ann.events[1:] == [Acquired("a", hold.fence, hold.waited)]

    def test_it_does_not_hammer_a_silent_store(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        scene.spawn(stands(ann))
        scene.until(60.0)
        assert 20 <= len(ann.world.asks("time")) <= 60

    def test_another_silence_after_a_while_in_the_queue_is_told_again(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        leader = scene.play(stands(bob))
        bob.start_keeper()
        ann.world.is_silent = True
        task = scene.spawn(stands(ann))
        scene.until(3.0)
        ann.world.is_silent = False
        scene.until(100.0)
        assert [type(event) for event in ann.events] == [CampaignStalled, JoinedQueue]
        ann.world.is_silent = True
        scene.until(140.0)
        assert len(ann.told(CampaignStalled)) == 2
        ann.world.is_silent = False
        scene.play(release(bob.world, bob.desk, leader))
        assert scene.finish(task).fence > leader.fence

    def test_a_queue_that_is_full_is_asked_again_and_is_no_silence(
        self, scene: Scene, ann: Process, bob: Process
    ) -> None:
        leader = scene.play(stands(bob))
        outcomes: list[Hold | Denied] = []

        async def stand() -> Hold | Denied:
            outcomes.append(await ann.acquires(Request("a", 30.0, wait=0.0)))
            return outcomes[-1]

        task = scene.spawn(campaign(ann.world, ann.desk, "a", stand))
        scene.until(1.0)
        ann.world.doom("acquire", *[SILENT] * 2)
        scene.until(5.0)
        scene.play(release(bob.world, bob.desk, leader))
        hold = scene.finish(task)
        assert outcomes[-1] is hold
        assert [type(event) for event in ann.events if not isinstance(event, FoundBusy)] == [CampaignStalled, Acquired]

    def test_what_was_wrongly_set_up_is_raised(self, scene: Scene, ann: Process) -> None:
        ann.world.faults.append(ConfigError("mine"))
        with pytest.raises(ConfigError, match="mine"):
            scene.play(stands(ann))

    def test_a_client_that_is_closed_stands_no_more(self, scene: Scene, ann: Process) -> None:
        ann.world.is_silent = True
        task = scene.spawn(stands(ann))
        scene.until(10.0)
        ann.desk.is_closed = True
        with pytest.raises(ClientClosed):
            scene.finish(task)
        assert scene.now < 10.0 + PATIENCE + 1.0

    def test_who_is_cancelled_in_the_queue_has_left_it(self, scene: Scene, ann: Process, bob: Process) -> None:
        scene.play(stands(ann))
        task = scene.spawn(stands(bob))
        scene.until(1.0)
        assert len(bob.desk.tickets) == 1
        task.cancel()
        with pytest.raises(Cancelled):
            task.outcome()
        assert (bob.desk.tickets, bob.desk.debts) == ({}, {})
        assert scene.server.locks["a"].queue == ()


class TestSteppingDown:
    def test_the_keeper_gives_the_lock_back(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        hold.bar_until = EPOCH + 9.0
        scene.until(5.0)
        assert step_down(ann.world, ann.desk, hold) is None
        assert (hold.is_over, ann.desk.holds, ann.world.asks("leave")) == (True, {}, [])
        ann.start_keeper()
        scene.until(5.5)
        assert ann.world.asks("leave") == [Leave(hold.owner, EPOCH + 9.0)]
        assert ann.desk.debts == {}
        assert ann.told(Released) == [Released("a", hold.fence, 5.0)]

    def test_a_loss_is_told_and_given(self, scene: Scene, ann: Process) -> None:
        told: list[LeaseLost] = []
        hold = ann.holds(REQUEST, watchers=[told.append])
        hold.lose(FORGOTTEN)
        assert step_down(ann.world, ann.desk, hold) == FORGOTTEN
        assert ann.events[1:] == [Lost("a", hold.fence, FORGOTTEN)]
        assert len(told) == 1

    def test_what_is_over_is_left_alone(self, scene: Scene, ann: Process) -> None:
        hold = ann.holds(REQUEST)
        scene.play(release(ann.world, ann.desk, hold))
        assert step_down(ann.world, ann.desk, hold) is None
        assert (ann.desk.debts, len(ann.told(Released))) == ({}, 1)
