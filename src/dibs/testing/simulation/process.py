"""A process of the fleet: its clock, its lines, its desk and keeper, and what befalls it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

from dibs.flows.desk import Desk
from dibs.flows.keeping import Keeper
from dibs.ports.world import AskAgain
from dibs.testing.simulation.agenda import Task
from dibs.testing.simulation.network import Line, Server
from dibs.testing.simulation.world import SimInbox, SimWorld

if TYPE_CHECKING:
    from dibs.events import Event
    from dibs.model.asks import Push
    from dibs.ports.store import Store
    from dibs.testing.simulation.weather import Weather


class Process:
    """One process. It can be paused whole, hang in its loop while the keeper goes on, or crash."""

    died_at = inf

    def __init__(
        self,
        name: str,
        servers: Sequence[Server],
        store: Store,
        weather: Weather,
        random: Random,
        *,
        tell: Callable[[Process, Event], None],
    ) -> None:
        self.name, self.weather, self._random = name, weather, random
        self.agenda = servers[0].agenda
        self._offset, self._rate = random.uniform(0, 100), 1 + random.uniform(-weather.drift, weather.drift)
        self.is_dead = False
        self.paused_until = self._loop_until = self._stopped_at = 0.0
        self.tasks: list[Task] = []
        self.running: Task | None = None
        self._tokens = 0
        self.heard_evicted: set[int] = set()
        self.lines = [self._line(server, "loop", number) for number, server in enumerate(servers)]
        self.keeper_line = self._line(servers[0], "keeper", 0)
        self.channel = random.choice((self.lines[0], self.keeper_line)).channel
        self.desk = Desk(store, "sim://", lambda event: tell(self, event), name, nudge=self._nudge)
        self.world = SimWorld(self, self.lines, "loop")
        self.keeper = Keeper(SimWorld(self, [self.keeper_line], "keeper"), self.desk)
        self.nudges = SimInbox(self, "keeper")

    def clock(self) -> float:
        """Its own clock: it runs at its own rate and is never set."""
        return self._offset + self.agenda.now * self._rate

    def true_duration(self, duration: float) -> float:
        """How long that is for everybody else."""
        return duration / self._rate

    def token(self) -> str:
        """A name that nobody else has."""
        self._tokens += 1
        owner = f"{self.name}.{self._tokens}"
        if self.running is not None:
            self.running.owner = owner
        return owner

    def spawn(self, flow: Coroutine[Any, Any, None], lane: str = "loop") -> Task:
        """Start a task of this process."""
        task = Task(flow, self._parked_user if lane == "loop" else self._parked_keeper)
        self.tasks.append(task)
        self.run(lane, self._step, task, 0, None)
        return task

    def run(self, lane: str, call: Callable[..., object], *args: Any) -> None:
        """Do something as soon as this process, or this lane of it, runs."""
        if self.is_dead:
            return
        until = self._loop_until if lane == "loop" else self.paused_until
        if until > self.agenda.now:
            self.agenda.at(until, self.run, lane, call, *args)
        else:
            call(*args)

    def resume(self, lane: str, task: Task, awaits: int, value: object = None) -> None:
        """Let a task go on, if it is still at that await: most timers find it gone."""
        if task.awaits == awaits:
            self.run(lane, self._step, task, awaits, value)

    def crash(self) -> None:
        """End at once. What was sent still lands; nothing else is said."""
        self.is_dead, self.died_at = True, self.agenda.now
        self.cut_all()

    def end(self) -> None:
        """The world is over."""
        self.is_dead, self.running = True, None
        for task in self.tasks:
            if not task.is_done:
                task.drop()

    def heal(self, weather: Weather) -> None:
        """Nothing goes wrong here any more."""
        self.weather = weather
        for line in (*self.lines, self.keeper_line):
            line.weather = weather

    def cut_all(self) -> None:
        """Every connection breaks at once."""
        for line in (*self.lines, self.keeper_line):
            line.cut()

    def awake_since(self) -> float:
        """Since when all of it has been running."""
        return self._loop_until

    def ran_at(self) -> float:
        """When its loop last ran, by its own clock."""
        return self.clock() if self._loop_until <= self.agenda.now else self._stopped_at

    def hear_push(self, push: Push, asked_at: float) -> None:
        """A push arrived."""
        if push.kind == "evicted":
            self.heard_evicted.add(push.fence)
        self.desk.deliver(push, asked_at)

    def hear_cut(self) -> None:
        """A line was made anew."""
        self.desk.ask_again()

    def _line(self, server: Server, lane: str, number: int) -> Line:
        channel = f"{self.name}/{lane}{number}"
        return Line(self, server, channel, lane=lane, weather=self.weather, random=self._random)

    def _nudge(self) -> None:
        self.nudges.put(AskAgain())

    def _step(self, task: Task, awaits: int, value: object) -> None:
        before, self.running = self.running, task
        task.resume(awaits, value)
        self.running = before

    def _cancel(self, task: Task, awaits: int) -> None:
        before, self.running = self.running, task
        task.cancel(awaits)
        self.running = before

    def _parked_keeper(self, _task: Task) -> None:
        """The keeper is at an await: the process may stop here."""
        self._maybe_stop()

    def _parked_user(self, task: Task) -> None:
        """A task of the user's is at an await: it may be cancelled here, the loop may hang, the process may stop."""
        random, weather, agenda = self._random, self.weather, self.agenda
        if weather.cancel and random.random() < weather.cancel:
            soon = agenda.now + random.choice((0.0, 0.002, 0.01, 0.3)) * random.random()
            agenda.at(soon, self.run, "loop", self._cancel, task, task.awaits)
        if weather.hang and random.random() < weather.hang:
            self._stop_loop(agenda.now + random.uniform(0.1, 3) * weather.ttl)
        self._maybe_stop()

    def _stop_loop(self, until: float) -> None:
        self._stopped_at = self.clock()
        self._loop_until = max(self._loop_until, until)

    def _maybe_stop(self) -> None:
        random, weather = self._random, self.weather
        if weather.pause and random.random() < weather.pause:
            self.paused_until = self.agenda.now + random.uniform(0.1, 2.5) * weather.ttl
            self._stop_loop(self.paused_until)
        if weather.crash and random.random() < weather.crash:
            self.agenda.at(self.agenda.now, self.crash)
