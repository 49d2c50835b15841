"""Somebody who hands steps to a fleet: now and then, some of them again, over lines that may be cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.errors import ActRefused, StoreUnreachable
from dibs.flows import stepping
from dibs.flows.controlling import Order
from dibs.model.job import Terms
from dibs.model.steps import Submission
from dibs.testing.simulation.agenda import Cancelled
from dibs.testing.simulation.cron.programs import draw_terms

if TYPE_CHECKING:
    from random import Random

    from dibs.testing.simulation.cron.referee import CronReferee
    from dibs.testing.simulation.process import Process

MOST = 12
"""So many steps are there at the most."""


class Submitter:
    """One of them, at a process of its own."""

    def __init__(self, process: Process, referee: CronReferee, random: Random) -> None:
        self.process, self._referee, self._random = process, referee, random
        self._steps: list[Submission] = []

    async def run(self) -> None:
        """Submit until the world is over."""
        while True:
            try:
                await self.process.world.pause(self._random.expovariate(1.0))
                await self._submit(self._step())
            except Cancelled:
                self._referee.counts["submitter interrupted"] += 1
            except (StoreUnreachable, ActRefused):
                self._referee.counts["submitter unanswered"] += 1

    def _step(self) -> Submission:
        random = self._random
        if len(self._steps) >= MOST or (self._steps and random.random() < 0.3):
            return random.choice(self._steps)
        self._steps.append(Submission("a", f"{self.process.name}-{len(self._steps)}", self._terms(), '{"n":1}'))
        return self._steps[-1]

    def _terms(self) -> Terms:
        random = self._random
        drawn = draw_terms(random, self.process.weather.ttl)
        attempts, keep_for = random.choice((1, 3, 5)), random.choice((1.0, 4.0, 3600.0))
        return replace(drawn, overlap="skip", max_attempts=attempts, keep_for=keep_for)

    async def _submit(self, said: Submission) -> None:
        world, desk = self.process.world, self.process.desk
        self._referee.note(self.process.name, f"submits {said.sheet}")
        await stepping.submit(world, desk, said, order=Order("submit", self.process.name))
        self._referee.usher.acknowledged(said.sheet)
