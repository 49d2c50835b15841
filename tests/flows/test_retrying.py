"""Trying again without standing in the queue."""

from __future__ import annotations

import pytest

from dibs.errors import LockBusy, StoreUnreachable
from dibs.flows.retrying import insist
from dibs.model.asks import Held
from tests.flows.scripted import Cancelled, Process, Scene

BUSY = LockBusy("a", waited=0.0, held=Held("bob", "", 0.0, 30.0, 30.0, 7), waiters=0)
SILENT = StoreUnreachable("memory://", after=2.0)


class Door:
    """Somebody is in the way so many times."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.knocks = list(errors), 0

    async def enter(self) -> None:
        self.knocks += 1
        if self.errors:
            raise self.errors.pop(0)


def test_an_open_door_is_entered_at_the_first_try(scene: Scene, ann: Process) -> None:
    door = Door()
    assert scene.play(insist(ann.world, door.enter, retries=3, delay=0.5)) == 1
    assert (scene.now, door.knocks) == (0.0, 1)


def test_each_retry_comes_after_a_pause(scene: Scene, ann: Process) -> None:
    door = Door(BUSY, BUSY)
    assert scene.play(insist(ann.world, door.enter, retries=3, delay=0.5)) == 3
    assert ann.world.asks("pause") == [0.5, 0.5]
    assert scene.now == 1.0


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_after_the_last_retry_it_is_told_who_was_there(scene: Scene, ann: Process, retries: int) -> None:
    door = Door(*[BUSY] * 9)
    assert scene.play(insist(ann.world, door.enter, retries=retries, delay=0.5)) is BUSY
    assert (scene.now, door.knocks) == (retries * 0.5, retries + 1)


def test_a_silent_store_is_not_tried_again_because_it_had_its_time(scene: Scene, ann: Process) -> None:
    door = Door(BUSY, SILENT)
    assert scene.play(insist(ann.world, door.enter, retries=9, delay=0.5)) is SILENT
    assert door.knocks == 2


def test_whatever_else_goes_wrong_is_the_caller_s(scene: Scene, ann: Process) -> None:
    door = Door(KeyError("mine"))
    with pytest.raises(KeyError):
        scene.play(insist(ann.world, door.enter, retries=9, delay=0.5))
    assert door.knocks == 1


def test_who_is_cancelled_while_it_pauses_does_not_try_again(scene: Scene, ann: Process) -> None:
    door = Door(BUSY, BUSY)
    task = scene.spawn(insist(ann.world, door.enter, retries=9, delay=0.5))
    scene.until(0.25)
    task.cancel()
    with pytest.raises(Cancelled):
        task.outcome()
    scene.until(9.0)
    assert door.knocks == 1
