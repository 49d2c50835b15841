"""Somebody who acts on the jobs of a world: now and then, on whichever comes to mind, over lines that may be cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from dibs.errors import ActRefused, NoSuchJob, StoreUnreachable
from dibs.flows import controlling, defining
from dibs.flows.controlling import Order, Span
from dibs.flows.sheets import readable
from dibs.model import control
from dibs.model.definition import Definition, definition_of
from dibs.testing.simulation.agenda import Cancelled
from dibs.testing.simulation.cron.ledger import Intent
from dibs.testing.simulation.cron.programs import PERIODS, draw_terms

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from dibs.model.job import Job
    from dibs.testing.simulation.cron.referee import CronReferee
    from dibs.testing.simulation.cron.server import CronServer
    from dibs.testing.simulation.process import Process
    from dibs.testing.simulation.weather import Weather

DEEDS: Sequence[tuple[str, int]] = (
    *(("pause", 4), ("resume", 4), ("trigger", 5), ("skip_next", 3), ("cancel", 3), ("backfill", 3), ("give_up", 1)),
    *(("add", 3), ("change", 4), ("remove", 2), ("freeze", 2), ("thaw", 2)),
)
AS_DATA = ("x", "y")
"""Schedules that no code defines."""


class Person:
    """One of them, at a process of its own."""

    def __init__(self, process: Process, referee: CronReferee, server: CronServer, random: Random) -> None:
        self.process, self._referee, self._server, self._random = process, referee, server, random
        self._pace = random.choice((0.5, 1.0, 3.0))
        self._is_calm = False
        self._said = 0

    def heal(self, weather: Weather) -> None:
        """All is to go well from now on: nobody freezes anything any more."""
        self.process.heal(weather)
        self._is_calm, self._pace = True, min(self._pace, 1.0)

    async def run(self) -> None:
        """Act until the world is over."""
        while True:
            try:
                await self.process.world.pause(self._random.expovariate(1 / self._pace))
                await self._act()
            except Cancelled:
                self._referee.counts["people interrupted"] += 1

    async def _act(self) -> None:
        frozen_until = self._referee.warden.ledger.book.frozen_until
        deed = self._random.choices([name for name, _ in DEEDS], [weight for _, weight in DEEDS])[0]
        if self._is_calm and deed in {"freeze", "thaw"}:
            deed = "trigger"
        if self._is_calm and frozen_until > self._server.clock():
            deed = "thaw"
        try:
            await getattr(self, f"_{deed}")()
        except StoreUnreachable:
            self._referee.counts["people unanswered"] += 1
        except (ActRefused, NoSuchJob):
            self._referee.counts["people refused"] += 1

    # What there is to do.

    async def _pause(self) -> None:
        job, until = self._job(), self._moment()
        await self._do(Intent(self._me, "paused", job, until), self._acts(job, partial(control.paused, until=until)))

    async def _resume(self) -> None:
        job = self._job()
        await self._do(Intent(self._me, "resumed", job), self._acts(job, control.resumed))

    async def _trigger(self) -> None:
        job, said = self._job(), self._random.choice(("", f'{{"n": {self._said}}}'))
        act = self._acts(job, partial(control.triggered, arguments=said))
        await self._do(Intent(self._me, "triggered", job, arguments=said), act)

    async def _skip_next(self) -> None:
        job = self._job()
        await self._do(Intent(self._me, "skipped next", job), self._acts(job, control.without_next))

    async def _cancel(self) -> None:
        job, found = self._job(), self._found()
        ticks = [run.tick for each in found if each.name == job for run in each.runs]
        tick = self._random.choice((None, *ticks))
        await self._do(Intent(self._me, "cancelled", job), self._acts(job, partial(control.cancelled, tick=tick)))

    async def _backfill(self) -> None:
        found = next((job for job in self._found() if job.name == self._job() and job.gone is None), None)
        if found is None:
            return
        period = (found.calendar.after(0.0) or 1.0) - 0.0
        until = self._server.clock() - self._random.choice((0.0, 50.0)) - 1
        since = until - self._random.randint(10, 60) * period
        parallel = self._random.randint(1, 4)
        intent = Intent(self._me, "backfill", found.name, until, since, parallel=parallel)
        await self._do(intent, self._fills(found.name, Span(found.rule, since, until, parallel)))

    async def _give_up(self) -> None:
        job = self._job()

        def give_up(order: Order) -> Awaitable[Any]:
            return controlling.give_up(self.process.world, self.process.desk, job, order=order)

        await self._do(Intent(self._me, "cancelled", job), give_up)

    async def _add(self) -> None:
        name, said = self._random.choice(AS_DATA), self._definition()

        def add(order: Order) -> Awaitable[Any]:
            return defining.add(self.process.world, self.process.desk, replace(said, name=name), order=order)

        await self._do(Intent(self._me, "added", name, rule=said.rule), add)

    async def _change(self) -> None:
        name, said = self._job(), self._definition()

        def changed(job: Job) -> Definition:
            return replace(definition_of(job), rule=said.rule, terms=said.terms)

        def change(order: Order) -> Awaitable[Any]:
            return defining.change(self.process.world, self.process.desk, name, changed, order=order)

        await self._do(Intent(self._me, "changed", name, rule=said.rule), change)

    async def _remove(self) -> None:
        name = self._job()

        def remove(order: Order) -> Awaitable[Any]:
            return defining.remove(self.process.world, self.process.desk, name, order=order)

        await self._do(Intent(self._me, "removed", name), remove)

    async def _freeze(self) -> None:
        until = self._moment()

        def freeze(order: Order) -> Awaitable[Any]:
            return controlling.freeze(self.process.world, self.process.desk, lambda _: until, order=order)

        await self._do(Intent(self._me, "frozen", "", until), freeze)

    async def _thaw(self) -> None:
        def thaw(order: Order) -> Awaitable[Any]:
            return controlling.thaw(self.process.world, self.process.desk, order=order)

        await self._do(Intent(self._me, "thawed", ""), thaw)

    # How it is done.

    async def _do(self, intent: Intent, act: Callable[[Order], Awaitable[Any]]) -> None:
        self._said += 1
        reason = f"{self._me}'s {self._said}"
        self._referee.warden.intends(reason, intent)
        self._referee.note(self._me, f"wants {intent}: {reason}")
        await act(Order(intent.deed, self._me, reason))
        self._referee.note(self._me, f"knows that it is done: {reason}")
        self._referee.counts["people acted"] += 1
        self._referee.warden.acknowledged(reason)

    def _acts(self, job: str, judge: Callable[..., Any]) -> Callable[[Order], Awaitable[Any]]:
        world, desk = self.process.world, self.process.desk
        return lambda order: controlling.act(world, desk, job, judge, order=order)

    def _fills(self, job: str, span: Span) -> Callable[[Order], Awaitable[Any]]:
        world, desk = self.process.world, self.process.desk
        return lambda order: controlling.fill_in(world, desk, job, span, order=order)

    @property
    def _me(self) -> str:
        return self.process.name

    def _found(self) -> Sequence[Job]:
        jobs = readable(list(self._server.jobs.kept.values()))
        return [job for job in jobs if job.belongs_to == job.name]

    def _job(self) -> str:
        return self._random.choice([job.name for job in self._found()] or ["a"])

    def _moment(self) -> float | None:
        return self._random.choice((None, self._server.clock() + self._random.uniform(0.5, 6)))

    def _definition(self) -> Definition:
        random = self._random
        functions = [job.done_by for job in self._found()] or ["a"]
        terms = draw_terms(random, self.process.weather.ttl * random.choice((1.0, 1.0, 4.0)))
        return Definition("", f"every {random.choice(PERIODS)}s", terms, random.choice(functions))
