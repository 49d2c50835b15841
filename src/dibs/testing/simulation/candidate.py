"""One who stands for a leadership, leads, and stands again, until the world is over."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.flows import electing, locking
from dibs.flows.hold import Hold
from dibs.model.tenure import Verdict
from dibs.testing.simulation.agenda import Cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from random import Random

    from dibs.errors import LeaseLost
    from dibs.flows.locking import Denied
    from dibs.model.request import Request
    from dibs.testing.simulation.process import Process
    from dibs.testing.simulation.succession import Succession


class Candidate:
    """What `for term in d.leader(…).terms()` is to its process: the same flows, without the thread or loop around."""

    stands_since = 0.0
    last_fence = 0

    def __init__(self, process: Process, request: Request, succession: Succession, random: Random) -> None:
        self.process, self.name = process, request.name
        self._request, self._succession, self._random = request, succession, random

    async def run(self) -> None:
        """Lead, term after term. Whoever is cancelled leaves the loop, and its program begins another."""
        while not self._succession.is_over():
            try:
                await self._lead()
            except Cancelled:
                self._succession.counts["cancelled"] += 1
            except StoreUnreachable as silence:
                self._succession.gave_up(self, silence)
                return

    async def _lead(self) -> None:
        """One term, from standing for it to its end."""
        process = self.process
        self._succession.stands(self)
        hold = await electing.campaign(process.world, process.desk, self.name, self._stand)
        self._succession.begins(self, hold)
        try:
            await self._work(hold)
            if self._random.random() < 0.7:
                await self._resign(hold)
        finally:  # who left the loop in the middle of a term has not resigned it
            electing.step_down(process.world, process.desk, hold)
            self._succession.ends(self)

    def _stand(self) -> Awaitable[Hold | Denied]:
        process = self.process
        return locking.acquire(process.world, process.desk, self._request, watchers=(self._told,))

    async def _work(self, hold: Hold) -> None:
        """Look before each piece of work whether we still lead, as `term.ended` does."""
        random, world = self._random, self.process.world
        for _ in range(random.choice((1, 2, 3))):
            await world.pause(random.choice((0.1, 0.5, 1.5, 4.0)) * random.random() * self._request.ttl)
            if hold.check(world.now()) is Verdict.LOST:
                self._succession.counts["terms lost"] += 1
                return
            self._succession.acts(self, hold)

    async def _resign(self, hold: Hold) -> None:
        with suppress(StoreUnreachable):  # then it is owed
            loss = await locking.release(self.process.world, self.process.desk, hold)
            self._succession.resigned(self, hold, cleanly=loss is None)

    def _told(self, loss: LeaseLost) -> None:
        self._succession.told_loss(self, loss)
