"""One world from its seed to its verdict: a few processes, one or two locks, some weather."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from dibs.errors import LeaseLost, StoreUnreachable
from dibs.events import CampaignStalled, Event
from dibs.flows import locking, overseeing, together
from dibs.flows.hold import Hold
from dibs.model.asks import CROWD
from dibs.model.request import Request
from dibs.model.tenure import Verdict
from dibs.stores.direct import DirectLocks
from dibs.testing.simulation.agenda import Agenda, Cancelled
from dibs.testing.simulation.candidate import Candidate
from dibs.testing.simulation.errand import Errand
from dibs.testing.simulation.network import Server
from dibs.testing.simulation.process import Process
from dibs.testing.simulation.referee import Referee
from dibs.testing.simulation.succession import Succession
from dibs.testing.simulation.weather import CALM, Weather, draw

if TYPE_CHECKING:
    from dibs.testing.simulation.agenda import Task


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the referee found in one world."""

    seed: int
    weather: Weather
    faults: tuple[str, ...]
    counts: Counter[str]
    trace: tuple[str, ...] = ()


def play(seed: int, *, weather: Weather | None = None, with_trace: bool = False) -> Verdicts:
    """Run the world of a seed. The same seed is the same world, to the last message."""
    random = Random(seed)
    story = _Story(random, weather or draw(random), [] if with_trace else None)
    story.run()
    referee = story.referee
    return Verdicts(seed, story.weather, tuple(referee.faults), referee.counts, tuple(story.trace or ()))


KINDS = (
    *[((1, False),)] * 8,
    ((1, True), (1, False)),
    ((1, True), (CROWD, True), (CROWD, True)),
    ((2, True), (2, True), (3, True)),
    ((1, False), (1, True), (2, True), (CROWD, True)),
)
"""Room, and whether entries are counted, of what is taken in a world: mutexes mostly, readers and writers, permits."""


class _Story:
    """The cast and the plot."""

    def __init__(self, random: Random, weather: Weather, trace: list[str] | None) -> None:
        self._random, self.weather, self.trace = random, weather, trace
        self._agenda = Agenda()
        rate = 1 + random.uniform(-weather.drift, weather.drift)
        self._server = Server(self._agenda, rate=rate)
        self._processes: list[Process] = []
        self.referee = Referee(self._server, self._processes, trace)
        self._succession = Succession(self.referee, self._agenda, weather)
        self._scripts: list[tuple[Process, Task]] = []
        self._names = ["a"] if random.random() < 0.8 else ["a", "b"]
        self._kinds = random.choice(KINDS)
        fate = random.random()
        self._is_for_errands, self._is_for_leaders = fate < 0.1, fate > 0.9
        self._server.tells_by_answer = 10 * fate % 1 < 0.5
        self._to_begin = 0
        self._has_healed = False

    def run(self) -> None:
        """Rising action, healing, and the end."""
        random, ttl = self._random, self.weather.ttl
        for number in range(random.choice((2, 2, 2, 2, 3, 4))):
            process = self._process(f"p{number}", self.weather)
            process.spawn(process.keeper.serve(process.nudges), "keeper")
            for _ in range(random.choice((1, 1, 1, 1, 2))):
                self._to_begin += 1
                begins_at = random.random() * 0.3 * ttl * random.choice((0, 0, 1))
                self._agenda.at(begins_at, self._begin, process)
        for disaster in self.weather.disasters:
            self._agenda.at(random.uniform(0.05, 3) * ttl, self._strike, disaster)
        heals_at = random.uniform(1, 4) * ttl
        if self.weather.is_prompt:
            self.referee.healed_at = 0.0
        self._agenda.run(heals_at, self._is_over)
        self._heal()
        self._agenda.run(heals_at + 40 * ttl + 60, self._is_over)
        self._agenda.run(self._agenda.now + 2 * ttl + 4, lambda: False)
        self._judge()

    def _process(self, name: str, weather: Weather) -> Process:
        process = Process(name, [self._server], DirectLocks(""), weather, self._random, tell=self._tell)
        self._processes.append(process)
        return process

    def _begin(self, process: Process) -> None:
        self._to_begin -= 1
        if not process.is_dead:
            self._scripts.append((process, process.spawn(self._client(process))))

    def _heal(self) -> None:
        """From here on nothing goes wrong any more; what was under way still arrives."""
        self.referee.note("world", "heals")
        self._has_healed = True
        self._succession.heal()
        if self.referee.healed_at is None:
            self.referee.healed_at = self._agenda.now
        well = replace(CALM, ttl=self.weather.ttl)
        for process in self._processes:
            process.heal(well)

    def _is_over(self) -> bool:
        return self._to_begin == 0 and all(
            process.is_dead or (task.is_done and not process.desk.debts) for process, task in self._scripts
        )

    def _judge(self) -> None:
        for process, task in self._scripts:
            if task.error is not None:
                self.referee.failed(process, task.error)
            elif not task.is_done and not process.is_dead:
                self.referee.still_busy(process)
        self.referee.judge_remains()
        for process in self._processes:
            process.end()

    def _tell(self, process: Process, event: Event) -> None:
        self.referee.told(process, event)
        self.referee.counts["campaigns stalled"] += isinstance(event, CampaignStalled)

    # What the clients do.

    async def _client(self, process: Process) -> None:
        if self._is_for_leaders:
            wish = replace(self._request(), wait=None, room=1, is_counted=False, at_least=0.0)
            await Candidate(process, wish, self._succession, self._random).run()
            return
        for _ in range(self._random.choice((1, 1, 1, 2))):
            try:
                await self._once(process)
            except Cancelled:
                self.referee.counts["cancelled"] += 1
            except StoreUnreachable as error:
                self.referee.unreachable(process, error)

    async def _once(self, process: Process) -> None:
        random, world, desk = self._random, process.world, process.desk
        request, watchers = self._request(), (partial(self.referee.told_loss, process),)
        if len(self._names) > 1 and random.random() < 0.5:
            await self._all_of_them(process, request)
            return
        if self._is_for_errands:
            alone = replace(request, room=1, is_counted=False, at_least=0.0)
            await self._errand(process, Errand(process, alone, watchers, window=3 * self.weather.ttl))
            return
        taken = await locking.acquire(world, desk, request, watchers=watchers)
        if isinstance(taken, locking.Denied):
            self.referee.was_told_busy(process)
            return
        self.referee.entered(process, taken)
        try:
            await self._work(process, taken)
        finally:
            await self._give_back(process, taken)

    async def _all_of_them(self, process: Process, request: Request) -> None:
        """Take every lock there is, or none."""
        watchers = (partial(self.referee.told_loss, process),)
        wishes = [(replace(request, name=name), None) for name in self._names]
        taken = await together.acquire_all(process.world, process.desk, wishes, watchers=watchers)
        if isinstance(taken, together.Hindered):
            self.referee.was_told_busy(process)
            return
        self.referee.counts["all of them"] += 1
        for hold in taken:
            self.referee.entered(process, hold)
        try:
            await self._work(process, taken[-1])
        finally:
            loss = await together.release_all(process.world, process.desk, taken)
            for hold in taken:
                self.referee.released(process, hold, cleanly=loss is None)

    async def _errand(self, process: Process, errand: Errand) -> None:
        """Do what is to be done once a window; now and then it fails."""
        try:
            hold = await errand.begin()
            if not isinstance(hold, Hold):
                self.referee.counts["needless"] += 1
                return
            self.referee.entered(process, hold)
            await self._work(process, hold)
        finally:
            if errand.hold is not None:
                errand.hold.memo = errand.memo() if self._random.random() < 0.8 else None
                await self._give_back(process, errand.hold)

    async def _work(self, process: Process, hold: Hold) -> None:
        random, world, desk, ttl = self._random, process.world, process.desk, hold.request.ttl
        for _ in range(random.choice((1, 1, 2))):
            if hold.depth and random.random() < 0.3:
                await self._go_in_and_out(process, hold)
            await world.pause(random.choice((0.01, 0.1, 0.1, 0.5, 1.5, 4.0)) * random.random() * ttl)
            if hold.check(world.now()) is Verdict.LOST:
                break
            self._agenda.at(self._agenda.now + self.weather.delay(random), self.referee.write, process, hold)
            if random.random() < 0.2:
                await locking.prolong(world, desk, hold)

    async def _go_in_and_out(self, process: Process, hold: Hold) -> None:
        """Enter once more under the same grant; whoever leaves again still holds it."""
        with suppress(LeaseLost):
            entry = await locking.reenter(process.world, process.desk, hold)
            self.referee.counts["entered again"] += 1
            try:
                await process.world.pause(self._random.random() * hold.request.ttl)
            finally:
                await locking.release(process.world, process.desk, hold, entry=entry)

    async def _give_back(self, process: Process, hold: Hold) -> None:
        loss = await locking.release(process.world, process.desk, hold)
        self.referee.released(process, hold, cleanly=loss is None)

    def _request(self) -> Request:
        random, ttl = self._random, self.weather.ttl
        wait = random.choice((None, None, None, 0.0, random.uniform(0.1, 3) * ttl))
        room, is_counted = random.choice(self._kinds)
        return Request(
            random.choice(self._names),
            ttl * random.choice((1.0, 1.0, 0.5)),
            wait,
            renew=random.random() < 0.85,
            max_hold=ttl * random.uniform(1, 3) if random.random() < 0.2 else None,
            at_least=ttl * random.random() if random.random() < 0.05 else 0.0,
            room=room,
            is_counted=is_counted,
        )

    # What befalls the server.

    def _strike(self, disaster: str) -> None:
        if self._has_healed:
            return
        self.referee.note("world", disaster)
        self.referee.counts[disaster] += 1
        random, ttl, server = self._random, self.weather.ttl, self._server
        match disaster:
            case "restart":
                self._restart()
            case "forget":
                server.forget()
                self.referee.excuse_all()
                self.referee.fences_may_fall()
                self._restart()
            case "jump ahead":
                server.offset += random.uniform(0.2, 5) * ttl
                self.referee.excuse_all()
            case "jump back":
                server.offset -= random.uniform(0.2, 2) * ttl
                self.referee.excuse_all()
                self.referee.clock_went_back()
            case "stall":
                server.stalled_until = self._agenda.now + random.uniform(0.2, 1.5) * ttl
            case _:
                admin = self._process("admin", replace(CALM, ttl=ttl))
                admin.spawn(_evict(admin, random.choice(self._names), times=5, pause=random.random() * 0.1 * ttl))

    def _restart(self) -> None:
        self._server.stalled_until = self._agenda.now + self._random.uniform(0.01, 0.5)
        for process in self._processes:
            process.cut_all()


async def _evict(admin: Process, name: str, *, times: int, pause: float) -> None:
    """Somebody takes the lock from whoever is seen to hold it, again and again."""
    for _ in range(times):
        seen = await overseeing.inspect(admin.world, admin.desk, name)
        if seen.holders:
            await overseeing.evict(admin.world, admin.desk, name, fence=seen.holders[-1].fence, reason="sim")
        await admin.world.pause(pause)
