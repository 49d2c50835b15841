"""A node of a fleet that runs jobs: a process, its shift, and a crew whose work takes virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

from dibs.errors import StoreUnreachable
from dibs.events import ClaimingPaused, Event, StoreBack, StoreSilent
from dibs.flows.duty import TIMEOUT, Underway
from dibs.flows.shift import Shift
from dibs.model.rota import Ending
from dibs.ports.world import AskAgain
from dibs.testing.simulation.agenda import Cancelled
from dibs.testing.simulation.world import SimInbox, SimWorld

if TYPE_CHECKING:
    from dibs.model.record import Outcome
    from dibs.testing.simulation.cron.programs import Program
    from dibs.testing.simulation.cron.referee import CronReferee
    from dibs.testing.simulation.process import Process

LEAVING_TRIES = 8


class Node:
    """Rounds until it is told to leave, is interrupted, or dies."""

    def __init__(self, process: Process, program: Program, referee: CronReferee, random: Random) -> None:
        self.process, self.program, self._random = process, program, random
        self.crew = SimCrew(self, referee, random)
        self.shift = Shift(process.world, process.desk, program.duties, self.crew)
        self.inbox = SimInbox(process, "loop")
        self.is_silent = self._is_surprised = False
        self.answered_before = self.answered_since = -inf
        """When the last two rounds began in which the store answered all that it was asked, as it was expected to."""
        self.first_answered = inf
        """When the first one began."""
        self.is_told_to_leave = self.has_left = False
        self._leaves_by = inf

    def hear(self, event: Event) -> None:
        """Something that its shift told."""
        if isinstance(event, StoreSilent | StoreBack):
            self.is_silent = isinstance(event, StoreSilent)
        self._is_surprised |= isinstance(event, ClaimingPaused)

    def told_to_leave(self, grace: float) -> None:
        """Claim no more, and end what there is within the grace."""
        self.is_told_to_leave = self.shift.is_leaving = True
        self._leaves_by = self.process.clock() + grace
        self.inbox.put(AskAgain())

    async def run(self) -> None:
        """From its first round to its end."""
        try:
            await self._work()
        except Cancelled:
            self.crew.referee.counts["interrupted"] += 1
        try:
            await self._retire()
        except Cancelled:
            self.crew.referee.counts["interrupted twice"] += 1
        self.process.crash()

    async def _work(self) -> None:
        process, shift = self.process, self.shift
        while process.clock() < self._leaves_by and (shift.charge.underway or not self.is_told_to_leave):
            began_at = process.agenda.now
            wait = await shift.round()
            if not self.is_silent and not self._is_surprised:
                self.answered_before, self.answered_since = self.answered_since, began_at
                self.first_answered = min(began_at, self.first_answered)
            self._is_surprised = False
            await self.inbox.next(min(wait, self._leaves_by - process.clock()))

    async def _retire(self) -> None:
        for _ in range(LEAVING_TRIES):
            try:
                await self.shift.retire()
            except StoreUnreachable:
                await self.process.world.pause(0.25)
            else:
                self.has_left = True
                return


class SimCrew:
    """Bodies in threads of their own: they go on while the loop hangs."""

    def __init__(self, node: Node, referee: CronReferee, random: Random) -> None:
        process = node.process
        self.node, self._node, self.referee, self._random = process.name, node, referee, random
        self._process, self._world = process, SimWorld(process, [process.keeper_line], "keeper")
        self.version, self.workers = node.program.version, 100
        self.labels: tuple[str, ...] = ()
        self._skew = random.choice((0.0, -10.0, 10.0, random.uniform(-3, 3)))
        self.places: int = random.choice((100, 100, referee.places))
        self.busy = 0

    def begin(self, mine: Underway) -> None:
        self.busy += 1
        self.referee.handed_over(self._process, mine)
        self._process.spawn(self._do(mine), "keeper")

    def room(self) -> int:
        return self.places - self.busy

    def wall(self) -> float:
        return self.referee.true_time() + self._skew

    async def under(self, lock: str, act: Callable[[], Coroutine[Any, Any, bool]]) -> bool:
        """The lock only keeps nodes out of each other's way: all has to be well without it, and if it is not had."""
        return False if self._random.random() < 5 * self._process.weather.lost else await act()

    async def first_here(self, job: str, tick: float) -> bool:
        return True

    async def _do(self, mine: Underway) -> None:
        random, world = self._random, self._world
        if random.random() < 0.2:
            await world.pause(random.random() * 0.3 * mine.terms.ttl)
        if not mine.forsaken and not mine.is_lost(world.now()):
            mine.has_begun = True
            self.referee.began(self._process, mine)
            mine.ending = await self._ending(mine)
            self.referee.ended(mine)
        self.busy -= 1
        self._node.inbox.put(AskAgain())

    async def _ending(self, mine: Underway) -> Ending:
        random, listens = self._random, self._random.random() < 0.7
        told: list[str] = []
        mine.stop = told.append
        lasts = random.choice((0.001, 0.05, 0.2, 1.0, 3.0)) * random.random() * mine.terms.ttl
        if mine.run.source == "backfill":  # there are many of them
            lasts = min(lasts, random.choice((0.01, 0.01, 0.1, lasts)))
        pieces = random.choice((1, 2, 4))
        for piece in range(pieces):
            await self._world.pause(lasts / pieces + 0.001)
            mine.progress = (piece + 1) / pieces
            if told and listens:
                outcome: Outcome = "timeout" if told[0] == TIMEOUT else "cancelled"
                return Ending(outcome, result=mine.owner)
        outcome = random.choices(("ok", "failed", "skipped"), (80, 17, 3))[0]
        return Ending(outcome, result=mine.owner)
