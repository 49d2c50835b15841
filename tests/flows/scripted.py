"""A scene for flows: a real memory server, a clock that only the script moves, and asks that meet a scripted fate."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import inf
from types import coroutine
from typing import Any, Generic, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.events import Event
from dibs.flows.desk import Desk
from dibs.flows.hold import Hold
from dibs.flows.keeping import Keeper
from dibs.flows.locking import Denied, acquire
from dibs.flows.sheets import BESIDE
from dibs.model.asks import Acquire, Evict, Leave, Push
from dibs.model.request import Request
from dibs.ports.store import Command
from dibs.ports.wire import Ear
from dibs.ports.world import AskAgain, Outcome, Wake
from dibs.stores.direct import DirectLocks
from dibs.stores.memory.server import MemoryServer

T = TypeVar("T")
E = TypeVar("E")

_Soon = Callable[[float, Callable[[], object]], object]

EPOCH = 1_000_000.0
"""What the store's clock says when the scene's says 0."""

ENOUGH = 20_000
"""A scene of more steps than this does not end by itself."""


@dataclass(frozen=True)
class Fate:
    """What becomes of one command: when it lands, and when its answer is heard; `None` for never.

    A store that refuses answers, too, but only that it did not do it.
    """

    lands_after: float | None = 0.0
    heard_after: float | None = 0.0
    is_refused: bool = False


ANSWERED = Fate()
SILENT = Fate(lands_after=None)
UNHEARD = Fate(heard_after=None)
REFUSED = Fate(is_refused=True)


class Cancelled(BaseException):
    """The caller does not want it any more."""


class NeverEnds(BaseException):
    """The script has nothing left that could move the scene on, or goes on for ever."""


class Task(Generic[T]):
    """A flow on its way. A step names the await it answers, so that one which comes late does nothing."""

    def __init__(self, flow: Coroutine[Any, Any, T]) -> None:
        self._flow, self.awaits = flow, 0
        self._outcome: list[T] = []
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return bool(self._outcome) or self.error is not None

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return self._outcome[0]

    def step(self, awaits: int, value: object = None, error: BaseException | None = None) -> None:
        if self.is_done or awaits != self.awaits:
            return
        self.awaits += 1
        try:
            arrange = self._flow.send(value) if error is None else self._flow.throw(error)
        except StopIteration as done:
            self._outcome.append(done.value)
        except BaseException as raised:  # noqa: BLE001 - shown to whoever asks for the outcome
            self.error = raised
        else:
            arrange(self)

    def cancel(self) -> None:
        self.step(self.awaits, error=Cancelled())

    def drop(self) -> None:
        """Throw the flow away, as the garbage collector does."""
        if not self.is_done:
            self.awaits += 1
            self._flow.close()
            self.error = GeneratorExit()


@coroutine
def _parked(arrange: Callable[[Task[Any]], None]) -> Generator[Callable[[Task[Any]], None], Any, Any]:
    return (yield arrange)


class Scene:
    """One store, one clock, and what is going to happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self.server = MemoryServer()
        self.processes: dict[str, Process] = {}
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()
        self._tasks: list[Task[Any]] = []

    def process(self, name: str) -> Process:
        return Process(self, name)

    def store_now(self) -> float:
        return EPOCH + self.now

    def at(self, moment: float, call: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (max(moment, self.now), next(self._order), call))

    def spawn(self, flow: Coroutine[Any, Any, T]) -> Task[T]:
        task = Task(flow)
        self._tasks.append(task)
        task.step(0)
        return task

    def play(self, flow: Coroutine[Any, Any, T]) -> T:
        """The outcome of a flow, however long it takes."""
        return self.finish(self.spawn(flow))

    def finish(self, task: Task[T]) -> T:
        steps = 0
        while not task.is_done:
            steps += 1
            if not self._agenda or steps > ENOUGH:
                raise NeverEnds(f"at {self.now:g} s")
            self.happen()
        return task.outcome()

    def until(self, moment: float) -> None:
        """Let everything happen that is due by then."""
        steps = 0
        while self._agenda and self._agenda[0][0] <= moment:
            steps += 1
            if steps > ENOUGH:
                raise NeverEnds(f"at {self.now:g} s")
            self.happen()
        self.now = max(self.now, moment)

    def execute(self, words: Sequence[Any]) -> tuple[Any, float]:
        """Let a command land: the answer and the store's time."""
        at = self.store_now()
        answer, pushes = self.server.execute(words, at, self._listens)
        for push in list(pushes):
            self.processes[push.channel].hear(push)
        return answer, at

    def close(self) -> None:
        for task in self._tasks:
            task.drop()

    def _listens(self, channel: str) -> bool:
        return channel in self.processes and self.processes[channel].is_listening

    def happen(self) -> None:
        """The next thing."""
        moment, _, call = heapq.heappop(self._agenda)
        self.now = max(self.now, moment)
        call()


class Process:
    """One process of the scene: its desk, its world, its keeper (asleep until it is started) and what it told."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.scene, self.name = scene, name
        self.events: list[Event] = []
        self.nudges = 0
        self.is_listening = True
        self.push_delay = 0.0
        self.hung_since: float | None = None
        self._held_up: list[Callable[[], object]] = []
        self.answered_at = -inf
        self.hears_pushes = True
        self.desk = Desk(DirectLocks(""), "memory://scene", self.events.append, name, nudge=self._nudge)
        self._ear: Ear = self.desk
        self.world = ScriptedWorld(self)
        self.bell = ScriptedInbox(self, is_in_loop=False)
        self.keeper: Task[None] | None = None
        scene.processes[name] = self

    def start_keeper(self, idle: float = inf) -> Task[None]:
        self.keeper = self.scene.spawn(Keeper(self.world, self.desk).serve(self.bell, idle))
        return self.keeper

    def acquires(
        self,
        request: Request,
        *,
        inside: Sequence[Hold] = (),
        watchers: Sequence[Callable[[Any], object]] = (),
        bearer: object = None,
    ) -> Coroutine[Any, Any, Hold | Denied]:
        return acquire(self.world, self.desk, request, inside=inside, watchers=watchers, bearer=bearer)

    def holds(
        self,
        request: Request,
        *,
        inside: Sequence[Hold] = (),
        watchers: Sequence[Callable[[Any], object]] = (),
        bearer: object = None,
    ) -> Hold:
        """The lease, got at once."""
        hold = self.scene.play(self.acquires(request, inside=inside, watchers=watchers, bearer=bearer))
        assert isinstance(hold, Hold)
        return hold

    def hang(self) -> None:
        """Its event loop stands still from now on, so that nobody in it wakes; the keeper has a thread of its own."""
        self.hung_since = self.scene.now

    def wake(self) -> None:
        """The loop goes on, with all that came up meanwhile."""
        self.hung_since, held_up = None, self._held_up
        self._held_up = []
        for call in held_up:
            self.scene.at(self.scene.now, call)

    def in_loop(self, call: Callable[[], object]) -> None:
        if self.hung_since is None:
            call()
        else:
            self._held_up.append(call)

    def throw_out(self, task: Task[Any]) -> None:
        """End a flow as a signal does that hits it on its way out: it is garbage, and has neither left nor tidied."""
        desk = self.desk
        before = dict(desk.tickets), dict(desk.inboxes), dict(desk.debts)
        task.drop()
        desk.tickets, desk.inboxes, desk.debts = before

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def hear(self, push: Push) -> None:
        asked_at = self.answered_at
        if self.push_delay:
            self.scene.at(self.scene.now + self.push_delay, lambda: self._ear.deliver(push, asked_at))
        elif self.hears_pushes:
            self._ear.deliver(push, asked_at)

    def _nudge(self) -> None:
        self.nudges += 1
        self.bell.put(AskAgain())


class ScriptedWorld:
    """The flows' door to the scene."""

    def __init__(self, process: Process) -> None:
        self._process, self._scene = process, process.scene
        self.sent: list[tuple[float, str, Any]] = []
        self.is_silent = False
        self.ahead: float | None = None
        self.skew = 0.0
        self.faults: deque[Exception] = deque()
        self._fates: dict[str, deque[Fate]] = {}
        self._tokens = count(1)

    def doom(self, kind: str, *fates: Fate) -> None:
        """What becomes of the next commands of a kind: time, acquire, keep, leave, evict, inspect or held.

        The changes of sheets that are no job's are a kind of their own: beat.
        """
        self._fates.setdefault(kind, deque()).extend(fates)

    def asks(self, kind: str) -> list[Any]:
        """What was sent of a kind, oldest first."""
        return [what for _, sent, what in self.sent if sent == kind]

    def moments(self, kind: str) -> list[float]:
        return [moment for moment, sent, _ in self.sent if sent == kind]

    def now(self) -> float:
        return self._scene.now

    def store_time(self) -> float | None:
        return None if self.ahead is None else self._scene.now + self.ahead + self.skew

    def token(self) -> str:
        return f"{self._process.name}-{next(self._tokens)}"

    def listen(self, owner: str) -> ScriptedInbox:
        return ScriptedInbox(self._process)

    async def ask(self, command: Command[T], within: float, *, exactly: bool = False) -> T:
        def arrange(task: Task[Any]) -> None:
            awaits, asked_at = task.awaits, self._scene.now
            silence = StoreUnreachable(self._process.desk.server, after=within)
            give_up = partial(self._process.in_loop, partial(task.step, awaits, error=silence))
            self._scene.at(asked_at + within, give_up)
            self._send(command.words, lambda reply: task.step(awaits, *_value_or_error(reply)))

        return command.read(await _parked(arrange))

    def know_the_time(self) -> None:
        """As after any answer: the store's clock has been heard of."""
        self.ahead = self._scene.store_now() - self._scene.now

    async def ask_all(
        self, commands: Sequence[Command[T]], within: float, enough: Callable[[Sequence[Outcome[T] | None]], bool]
    ) -> Sequence[Outcome[T] | None]:
        raise NotImplementedError("a single store has nobody else to ask")

    def later(
        self, command: Command[T], heard: Callable[[T], object], *, undone: Callable[[], object] | None = None
    ) -> None:
        """As on a line in memory: what is answered at all without delay is answered before this returns."""

        def answered(reply: Any) -> None:
            if not isinstance(reply, StoreUnreachable):
                heard(command.read(reply))
            elif undone is not None and isinstance(reply, StoreRefused):
                undone()

        self._send(command.words, answered, soon=_at_once)

    async def pause(self, duration: float) -> None:
        def arrange(task: Task[Any]) -> None:
            awaits = task.awaits
            self._scene.at(self._scene.now + duration, lambda: task.step(awaits))

        self.sent.append((self._scene.now, "pause", duration))
        await _parked(arrange)

    def _send(self, words: Sequence[Any], heard: Callable[[Any], object], *, soon: _Soon | None = None) -> None:
        if self.faults:
            raise self.faults.popleft()
        kind, asked_at = _kind(words), self._scene.now
        self.sent.append((asked_at, kind, words[-1]))
        fate = self._fate(kind)
        if fate.lands_after is not None:
            at = soon if soon is not None and fate == ANSWERED else self._scene.at
            at(asked_at + fate.lands_after, lambda: self._land(words, asked_at, fate, heard, at))

    def _fate(self, kind: str) -> Fate:
        if self.is_silent:
            return SILENT
        fates = self._fates.get(kind)
        return fates.popleft() if fates else ANSWERED

    def _land(
        self, words: Sequence[Any], asked_at: float, fate: Fate, heard: Callable[[Any], object], soon: _Soon
    ) -> None:
        if fate.is_refused:
            refusal = StoreRefused(self._process.desk.server, after=0.0, why="it is loading")
            soon(self._scene.now + (fate.heard_after or 0.0), lambda: heard(refusal))
            return
        answer, at = self._scene.execute(words)

        def arrive() -> None:
            self._process.answered_at = max(self._process.answered_at, asked_at)
            self.ahead = at - asked_at
            heard(answer)

        if fate.heard_after is not None:
            soon(self._scene.now + fate.heard_after, arrive)


def _value_or_error(reply: Any) -> tuple[Any, StoreUnreachable | None]:
    return (None, reply) if isinstance(reply, StoreUnreachable) else (reply, None)


def _now(call: Callable[[], object]) -> None:
    call()


def _at_once(_moment: float, call: Callable[[], object]) -> object:
    return call()


def _kind(words: Sequence[Any]) -> str:
    if words[0] == "amend" and all(change.name.startswith(BESIDE) for change in words[-1]):
        return "beat"
    return {Acquire: "acquire", Leave: "leave", Evict: "evict"}.get(type(words[-1]), str(words[0]))


class ScriptedInbox:
    """Wake-ups for one flow of the scene."""

    def __init__(self, process: Process, *, is_in_loop: bool = True) -> None:
        self.channel, self._process, self._scene = process.name, process, process.scene
        self._is_in_loop = is_in_loop
        self._wakes: deque[Wake] = deque()
        self._rouse: Callable[[], None] | None = None

    def put(self, wake: Wake) -> None:
        self._wakes.append(wake)
        if self._rouse is not None:
            self._scene.at(self._scene.now, self._rouse)

    async def next(self, within: float) -> Wake | None:
        def arrange(task: Task[Any]) -> None:
            awaits, run = task.awaits, self._process.in_loop if self._is_in_loop else _now
            # Nothing here may hold the inbox itself: it is garbage as soon as its flow is.
            self._rouse = lambda: run(lambda: task.step(awaits))
            if within != inf:
                self._scene.at(self._scene.now + within, self._rouse)

        if not self._wakes:
            await _parked(arrange)
            self._rouse = None
        return self._wakes.popleft() if self._wakes else None

    def arrived(self) -> Sequence[Wake]:
        wakes = list(self._wakes)
        self._wakes.clear()
        return wakes

    def ran_at(self) -> float:
        return self._scene.now if self._process.hung_since is None else self._process.hung_since
