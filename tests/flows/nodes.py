"""A node of a scene: its rounds, and a crew that does what the script says."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from dibs.flows.duty import Duty, Underway
from dibs.flows.shift import Shift
from dibs.model.job import Job, Terms
from dibs.model.policy import OnOutageOfJob
from dibs.model.reading import job_of
from dibs.model.record import Record, records_of
from dibs.model.rota import Ending
from dibs.model.sheet import Question
from tests.flows.scripted import EPOCH, Process, Scene, Task

NAME = "report"
OK = Ending("ok", result="1")


def duty(name: str = NAME, *, rule: str = "every 60s", on_outage: OnOutageOfJob = "closed", **terms: Any) -> Duty:
    return Duty(name, rule, Terms(**terms), on_outage)


class Node:
    """One node, whose rounds the script begins; what it has begun is in `begun`."""

    version = "1"

    def __init__(self, process: Process, *duties: Duty, room: int = 10, labels: tuple[str, ...] = ()) -> None:
        self.process, self.scene, self.node = process, process.scene, process.name
        self.begun: list[Underway] = []
        self.stops: list[str] = []
        self.most = self.workers = room
        self.labels = labels
        self.is_first_here = True
        self.locks: list[str] = []
        """Under which it has done something, or would have."""
        self.is_locked_out = False
        self.clock = 0.0
        """By how much the clock of its machine is ahead."""
        self.shift = Shift(process.world, process.desk, {each.name: each for each in duties or [duty()]}, self)

    # What a crew is asked.

    def begin(self, mine: Underway) -> None:
        mine.has_begun, mine.stop = True, self.stops.append
        self.begun.append(mine)

    def room(self) -> int:
        return self.most - sum(mine.ending is None for mine in self.begun)

    def wall(self) -> float:
        return self.scene.store_now() + self.clock

    async def under(self, lock: str, act: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
        self.locks.append(lock)
        return False if self.is_locked_out else await act()

    async def first_here(self, job: str, tick: float) -> bool:
        return self.is_first_here

    # What the script makes it do.

    def round(self) -> float:
        return self.scene.play(self.shift.round())

    def starts_round(self) -> Task[float]:
        return self.scene.spawn(self.shift.round())

    def rounds_until(self, moment: float) -> None:
        """Rounds as a scheduler makes them, till then."""
        while self.scene.now < moment:
            wait = self.round()
            self.scene.until(min(moment, self.scene.now + max(wait, 0.001)))

    def retires(self) -> None:
        flow: Coroutine[Any, Any, None] = self.shift.retire()
        self.scene.play(flow)

    def ends(self, ending: Ending = OK) -> None:
        """What it has begun, has ended."""
        for mine in self.begun:
            mine.ending = mine.ending or ending

    @property
    def ticks(self) -> list[float]:
        """The ticks it has begun, in seconds of the scene."""
        return [mine.run.tick - EPOCH for mine in self.begun]


def job(scene: Scene, name: str = NAME) -> Job:
    """The job as the store has it."""
    return job_of(scene.server.sheets[""].kept[name])


def history(scene: Scene, name: str = NAME) -> Sequence[Record]:
    """What was noted of it, the oldest first."""
    lines = scene.server.sheets[""].lines(Question(name, limit=10_000))
    return records_of(lines[::-1])


def outcomes(scene: Scene, name: str = NAME) -> list[tuple[float, str]]:
    """What became of which tick, in seconds of the scene."""
    return [(record.tick - EPOCH, record.outcome) for record in history(scene, name)]
