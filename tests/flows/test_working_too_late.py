"""Workers that lose the lock between reading how the round stands and beginning an attempt of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from dibs.flows.hold import Hold
from dibs.flows.locking import Denied
from dibs.flows.working import Turn, Watch
from dibs.model.request import Request
from dibs.model.rota import Ending
from dibs.model.rounds import StatusLevel
from tests.flows.scripted import Fate, Process, Scene

TTL = 1.0
REQUEST = Request("mylock", TTL)
LATER = TTL / 2
"""After the TTL of whoever is late: still within the patience with which it asks."""

DONE, FAILED = Ending("ok"), Ending("failed")


class Nobody:
    """Who is told, and does not listen."""

    async def locked(self) -> None:
        pass

    async def status(self, level: StatusLevel, message: str) -> None:
        pass


def stand_of(process: Process) -> Callable[[Callable[[], Awaitable[None]]], Awaitable[Hold | Denied]]:
    async def stand(queued: Callable[[], Awaitable[None]]) -> Hold | Denied:
        return await process.acquires(REQUEST)

    return stand


class Worker:
    """One worker of a scene, in one round."""

    def __init__(self, process: Process, max_attempts: int = 5) -> None:
        self._process = process
        self.watch = Watch(process.world, process.desk, "mylock", Nobody(), max_attempts=max_attempts)

    async def next(self) -> Turn | str:
        return await self.watch.next(stand_of(self._process))

    async def turn(self) -> Turn:
        turn = await self.next()
        assert isinstance(turn, Turn)
        return turn


def test_one_who_reads_too_slowly_does_not_take_the_attempt_from_its_successor(
    scene: Scene, ann: Process, bob: Process
) -> None:
    late, heir = Worker(ann), Worker(bob)
    ann.world.doom("sheets", Fate(), Fate(heard_after=TTL + LATER))
    lates = scene.spawn(late.next())
    turn = scene.play(heir.turn())
    assert TTL <= scene.now < TTL + LATER
    scene.until(TTL + LATER)
    bob.start_keeper()
    scene.until(TTL + 2 * LATER)
    assert scene.play(heir.watch.settle(turn, DONE))
    assert scene.finish(lates) == "completed"


def test_one_who_lost_the_lock_does_not_begin_what_is_its_successor_s_to_begin(
    scene: Scene, ann: Process, bob: Process
) -> None:
    late, heir = Worker(ann), Worker(bob)
    ann.world.doom("sheets", Fate(), Fate(heard_after=TTL + LATER))
    lates = scene.spawn(late.next())
    failing = scene.play(heir.turn())
    assert scene.play(heir.watch.settle(failing, FAILED))
    bob.start_keeper()
    second = scene.play(heir.turn())
    assert second.attempt == 2
    scene.until(TTL + LATER)
    assert scene.play(heir.watch.settle(second, DONE))
    assert scene.finish(lates) == "completed"
