"""Workers of a scene: what each waits for, is told, and says of its attempts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from dibs.flows import journal
from dibs.flows.hold import Hold
from dibs.flows.locking import Denied, acquire
from dibs.flows.working import Turn, Watch
from dibs.model.job import Job
from dibs.model.reading import job_of
from dibs.model.record import Record
from dibs.model.request import Request
from dibs.model.rota import Ending
from dibs.model.rounds import Finish, StatusLevel
from dibs.model.sheet import Question
from tests.flows.scripted import Process, Scene, Task

TTL = 5.0
OK, FAILED = Ending("ok"), Ending("failed", "no luck")


class Hand:
    """A worker in one round; it is told things, and notes them."""

    def __init__(self, process: Process, *, key: str = "mylock", most: int = 5, ttl: float = TTL) -> None:
        self.process, self.scene = process, process.scene
        self.said: list[str] = []
        self.refusals: list[Denied] = []
        self._wish = Request(key, ttl)
        self.watch = Watch(process.world, process.desk, key, self, max_attempts=most)

    async def locked(self) -> None:
        self.said.append("locked")

    async def status(self, level: StatusLevel, message: str) -> None:
        self.said.append(f"{'+' if level is StatusLevel.VERBOSE else ''}{message}")

    def waits(self) -> Task[Turn | Finish]:
        """Stand ready."""
        return self.scene.spawn(self.watch.next(self.stand))

    def turn(self) -> Turn:
        """An attempt, got at once."""
        return its(self.scene, self.waits())

    def ends(self, turn: Turn, ending: Ending) -> bool:
        return self.scene.play(self.settles(turn, ending))

    def settles(self, turn: Turn, ending: Ending) -> Coroutine[Any, Any, bool]:
        return self.watch.settle(turn, ending)

    async def stand(self, queued: Callable[[], Awaitable[None]]) -> Hold | Denied:
        if self.refusals:
            return self.refusals.pop()
        return await acquire(self.process.world, self.process.desk, self._wish, queued=queued)


def its(scene: Scene, task: Task[Turn | Finish]) -> Turn:
    turn = scene.finish(task)
    assert isinstance(turn, Turn)
    return turn


def records(process: Process, name: str = "mylock") -> list[Record]:
    """What was noted, the oldest first."""
    lines = process.scene.play(journal.runs(process.world, process.desk, Question(name, limit=100)))
    return [record for _, record in reversed(lines)]


def sheet(scene: Scene) -> Job:
    return job_of(scene.server.sheets[""].kept["~worker:mylock"])
