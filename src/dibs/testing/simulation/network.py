"""Servers, and the lines to them. A message travels by itself: a client that gave up does not recall it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.asks import Busy, Hindrance, Leave
from dibs.ports.store import Command, Reply
from dibs.stores.memory.server import BLANK, MemoryServer

if TYPE_CHECKING:
    from dibs.model.asks import Acquire, AllAnswer, Answer, Ask, Memo, Push
    from dibs.model.lock import LockState
    from dibs.testing.simulation.agenda import Agenda
    from dibs.testing.simulation.weather import Weather

Heard = Callable[[Reply | StoreUnreachable], object]


class Witness(Protocol):
    """Who watches a server: the referee."""

    def saw(self, name: str, before: LockState, after: LockState, ask: Ask, answer: Answer) -> None:
        """One ask was carried out."""
        ...

    def saw_done(self, name: str, before: Memo | None) -> None:
        """It was noted that some work was done; this is what was known of it before."""
        ...

    def saw_none(self, name: str, before: LockState, after: LockState, *, told_held: str | None) -> None:
        """One of several locks was asked for together with the others, and they were not granted.

        `told_held`: the owner who is told that somebody has one of them.
        """
        ...


class Server(MemoryServer):
    """A memory store with a clock that can be wrong, that can stall, stop, and forget."""

    def __init__(self, agenda: Agenda, *, rate: float = 1.0, offset: float = 1_000.0) -> None:
        super().__init__()
        self.agenda, self.rate, self.offset = agenda, rate, offset
        self.stalled_until = 0.0
        self.listeners: dict[str, Line] = {}
        self.tells_by_answer = False
        """Whether one who gives a lock back is told by the answer that it is another of its process now."""
        self.witness: Witness | None = None

    def clock(self) -> float:
        """What its own clock says."""
        return self.offset + self.agenda.now * self.rate

    def carry_out(self, words: Sequence[Any]) -> tuple[Reply, Sequence[Push]]:
        """Do one command, and tell whom it concerns: by pushes, or together with the answer."""
        at = self.clock()
        answer, pushes = self.execute(words, at, self.listeners.__contains__)
        near = self._hears_the_answer(words)
        for push in pushes:
            if push.channel != near and (line := self.listeners.get(push.channel)) is not None:
                line.bring(push)
        return Reply(answer, at), [push for push in pushes if push.channel == near]

    def _hears_the_answer(self, words: Sequence[Any]) -> str | None:
        match words:
            case ("ask", _, Leave(channel=channel)) if self.tells_by_answer and channel:
                return channel
            case _:
                return None

    def turn(self, name: str, ask: Ask, now: float) -> Answer:
        """One ask about one lock, under the referee's eyes."""
        before, noted = self.locks.get(name, BLANK), self.memos.get(name)
        answer = super().turn(name, ask, now)
        if self.witness is not None and self.memos.get(name) is not noted:
            self.witness.saw_done(name, None if noted is None else noted[0])
        if self.witness is not None:
            self.witness.saw(name, before.at(now), self.locks.get(name, BLANK), ask, answer)
        return answer

    def turn_all(self, asks: Sequence[tuple[str, Acquire]], now: float) -> AllAnswer:
        """Several locks in one step, under the referee's eyes."""
        before = [self.locks.get(name, BLANK).at(now) for name, _ in asks]
        answers = super().turn_all(asks, now)
        for number, (name, ask) in enumerate(asks):
            after = self.locks.get(name, BLANK)
            if self.witness is None:
                break
            if isinstance(answers, Hindrance):
                told = ask.owner if isinstance(answers.answer, Busy) else None
                self.witness.saw_none(name, before[number], after, told_held=told)
            else:
                self.witness.saw(name, before[number], after, ask, answers[number])
        return answers

    def forget(self) -> None:
        """Lose all memory."""
        self.locks.clear()
        self.memos.clear()
        self.last_fence = 0


@dataclass(slots=True, eq=False)
class Message:
    """A command on its way, and who wants the answer."""

    command: Command[Any]
    asked_at: float
    heard: Heard
    generation: int
    is_refused: bool = False
    """Whether the server will not do it; nor will it if it comes twice."""


class Client(Protocol):
    """The process at this end of a line."""

    def clock(self) -> float:
        """Its own clock."""
        ...

    def run(self, lane: str, call: Callable[..., object], *args: Any) -> None:
        """Do something as soon as it runs."""
        ...

    def hear_push(self, push: Push, asked_at: float) -> None:
        """A push arrived."""
        ...

    def hear_cut(self) -> None:
        """A line was made anew."""
        ...


class Line:
    """One connection: in order both ways, until it is cut and made anew."""

    def __init__(
        self, client: Client, server: Server, channel: str, *, lane: str, weather: Weather, random: Random
    ) -> None:
        self._client, self._server, self.channel, self._lane = client, server, channel, lane
        self.weather, self._random = weather, random
        self._agenda = server.agenda
        self._sent_until = self._heard_until = 0.0
        self._generation = 0
        self._is_up = True
        self._open: list[Message] = []
        self.answered_at = client.clock()
        server.listeners[channel] = self

    def send(self, command: Command[Any], heard: Heard) -> None:
        """Send once. What becomes of it is up to the weather."""
        message = Message(command, self._client.clock(), heard, self._generation)
        if not self._is_up:
            self._agenda.at(self._agenda.now + 0.002, self._hear, message, _unreachable("no connection"))
            return
        self._open.append(message)
        random, weather = self._random, self.weather
        if weather.cut and random.random() < weather.cut:
            self._agenda.at(self._agenda.now + random.uniform(0, 0.01), self.cut)
        if weather.lost and random.random() < weather.lost:
            return
        message.is_refused = bool(weather.refused) and random.random() < weather.refused
        arrives_at = self._agenda.now + weather.delay(random)
        self._sent_until = arrives_at = max(self._sent_until, arrives_at)
        self._agenda.at(arrives_at, self._land, message)
        if weather.twice and random.random() < weather.twice:
            self._agenda.at(arrives_at, self._land, message)

    def is_to(self, server: Server) -> bool:
        """Whether it leads there."""
        return self._server is server

    def bring(self, push: Push) -> None:
        """The server tells us something, behind all that it has answered. To a line that is cut it tells it in vain."""
        if self._is_up:
            self._back(self._hear_push, push, self._generation)

    def cut(self) -> None:
        """The connection breaks: what was on its way back is lost, what was on its way there may still land."""
        if not self._is_up:
            return
        self._is_up = False
        self._generation += 1
        for message in self._open:
            self._hear(message, _unreachable("connection cut"))
        self._open = []
        now = self._agenda.now
        self._agenda.at(now + self._random.uniform(0, 0.3) * self.weather.ttl, self._server_notices, self._generation)
        self._agenda.at(now + self._random.uniform(0.001, 0.5), self._client.run, self._lane, self._make_anew)

    def _server_notices(self, generation: int) -> None:
        if self._generation == generation and not self._is_up:
            self._server.listeners.pop(self.channel, None)

    def _make_anew(self) -> None:
        """Connect and subscribe: that is asked and answered before anything else is."""
        self._is_up = True
        self._sent_until = self._heard_until = self._agenda.now
        self.answered_at = self._client.clock()
        self._server.listeners[self.channel] = self
        self._client.hear_cut()

    def _land(self, message: Message) -> None:
        server = self._server
        if server.stalled_until > self._agenda.now:
            self._agenda.at(server.stalled_until, self._land, message)
            return
        if message.is_refused:
            outcome: Reply | StoreUnreachable = StoreRefused("sim://", after=0.0, why="refused")
            told: Sequence[Push] = ()
        else:
            outcome, told = server.carry_out(message.command.words)
        if message.generation == self._generation:
            self._back(self._hear_reply, message, outcome, told)

    def _back(self, call: Callable[..., object], *args: Any) -> None:
        if self.weather.lost and self._random.random() < self.weather.lost:
            return
        self._heard_until = max(self._heard_until, self._agenda.now + self.weather.delay(self._random))
        self._agenda.at(self._heard_until, self._client.run, self._lane, call, *args)

    def _hear_reply(self, message: Message, outcome: Reply | StoreUnreachable, told: Sequence[Push]) -> None:
        if message not in self._open:
            return
        for push in told:
            self._client.hear_push(push, message.asked_at)
        self._open.remove(message)
        if isinstance(outcome, Reply):
            self.answered_at = max(self.answered_at, message.asked_at)
        message.heard(outcome)

    def _hear(self, message: Message, outcome: StoreUnreachable) -> None:
        self._client.run(self._lane, message.heard, outcome)

    def _hear_push(self, push: Push, generation: int) -> None:
        if generation == self._generation:
            self._client.hear_push(push, self.answered_at)


def _unreachable(why: str) -> StoreUnreachable:
    return StoreUnreachable("sim://", after=0.0, why=why)
