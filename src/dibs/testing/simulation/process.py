"""A process of the fleet: its clock, its lines, its desk and keeper, and the world its flows live in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.flows.desk import Desk
from dibs.flows.keeping import Keeper
from dibs.ports.store import Command, Reply
from dibs.ports.world import AskAgain, Outcome, Wake
from dibs.testing.simulation.agenda import Dead, Task, parked
from dibs.testing.simulation.network import Heard, Line, Server

if TYPE_CHECKING:
    from dibs.events import Event
    from dibs.model.asks import Push
    from dibs.ports.store import Store
    from dibs.testing.simulation.weather import Weather

T = TypeVar("T")


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


class Sends(Protocol):
    """What a world needs of a line."""

    def send(self, command: Command[Any], heard: Heard) -> None:
        """Send once."""
        ...


class SimWorld:
    """The third world: virtual time, and messages that the weather may eat."""

    def __init__(self, process: Process, lines: Sequence[Sends], lane: str) -> None:
        self._process, self._lines, self._lane = process, lines, lane
        self.now, self.token = process.clock, process.token
        self._ahead: float | None = None

    def store_time(self) -> float | None:
        return None if self._ahead is None else self.now() + self._ahead

    def listen(self, owner: str) -> SimInbox:
        return SimInbox(self._process, self._lane)

    async def ask(self, command: Command[T], within: float, *, exactly: bool = False) -> T:
        task, asked_at = self._task(), self.now()
        awaits, answers = task.awaits, list[Reply | StoreUnreachable]()

        def heard(outcome: Reply | StoreUnreachable) -> None:
            self._note_time(outcome, asked_at)
            answers.append(outcome)
            self._process.resume(self._lane, task, awaits)

        self._lines[command.node].send(command, heard)
        self._wake_in(within)
        await parked()
        outcome = answers[0] if answers else StoreUnreachable("sim://", after=within)
        if isinstance(outcome, StoreUnreachable):
            raise outcome
        return command.read(outcome.value)

    async def ask_all(
        self, commands: Sequence[Command[T]], within: float, enough: Callable[[Sequence[Outcome[T] | None]], bool]
    ) -> Sequence[Outcome[T] | None]:
        outcomes: list[Outcome[T] | None] = [None] * len(commands)
        task, asked_at = self._task(), self.now()

        def heard(position: int, command: Command[T], outcome: Reply | StoreUnreachable) -> None:
            self._note_time(outcome, asked_at)
            outcomes[position] = command.read(outcome.value) if isinstance(outcome, Reply) else outcome
            if waiting:
                self._process.resume(self._lane, task, waiting[0])

        waiting: list[int] = []
        for position, command in enumerate(commands):
            self._lines[command.node].send(command, partial(heard, position, command))
        while None in outcomes and not enough(outcomes) and self.now() < asked_at + within:
            waiting[:] = [task.awaits]
            self._wake_in(asked_at + within - self.now())
            await parked()
        waiting.clear()
        return outcomes

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        def read(outcome: Reply | StoreUnreachable) -> None:
            if isinstance(outcome, Reply):
                heard(command.read(outcome.value))
            elif undone is not None and isinstance(outcome, StoreRefused):
                undone()

        if not self._process.is_dead:
            self._lines[command.node].send(command, read)

    async def pause(self, duration: float) -> None:
        self._wake_in(duration)
        await parked()

    def _note_time(self, outcome: Reply | StoreUnreachable, asked_at: float) -> None:
        if isinstance(outcome, Reply) and outcome.at is not None:
            self._ahead = outcome.at - asked_at

    def _wake_in(self, duration: float) -> None:
        process, task = self._process, self._task()
        if duration < inf:
            when = process.agenda.now + process.true_duration(max(duration, 0.0)) + 1e-9
            process.agenda.at(when, process.resume, self._lane, task, task.awaits)

    def _task(self) -> Task:
        task = self._process.running
        if task is None:
            raise Dead
        return task


class SimInbox:
    """Wake-ups that a simulated task waits for."""

    def __init__(self, process: Process, lane: str) -> None:
        self._process, self._lane = process, lane
        self.channel, self.ran_at = process.channel, process.ran_at
        self._wakes: deque[Wake] = deque()
        self._waiter: tuple[Task, int] | None = None

    def put(self, wake: Wake) -> None:
        self._wakes.append(wake)
        if self._waiter is not None:
            self._process.agenda.at(0.0, self._process.resume, self._lane, *self._waiter)

    async def next(self, within: float) -> Wake | None:
        process = self._process
        if not self._wakes and within > 0 and process.running is not None:
            task = process.running
            self._waiter = (task, task.awaits)
            if within < inf:
                when = process.agenda.now + process.true_duration(within) + 1e-9
                process.agenda.at(when, process.resume, self._lane, task, task.awaits)
            await parked()
            self._waiter = None
        return self._wakes.popleft() if self._wakes else None

    def arrived(self) -> Sequence[Wake]:
        wakes = list(self._wakes)
        self._wakes.clear()
        return wakes
