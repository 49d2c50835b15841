"""A process that has lines to several servers, and puts its questions to a vote, as the store for real servers does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from dibs.flows.keeping import Keeper
from dibs.ports.store import Command, Reply
from dibs.stores.quorum.council import NODE_PATIENCE, Council, Node
from dibs.stores.quorum.dialect import QuorumLocks
from dibs.stores.quorum.line import QuorumWire
from dibs.testing.simulation.network import Heard, Line, Server
from dibs.testing.simulation.process import Process
from dibs.testing.simulation.quorum.node import DirectNode
from dibs.testing.simulation.world import SimWorld

if TYPE_CHECKING:
    from dibs.errors import StoreUnreachable
    from dibs.events import Event
    from dibs.model.asks import Push
    from dibs.stores.quorum.ballot import Ballot
    from dibs.testing.simulation.agenda import Agenda
    from dibs.testing.simulation.quorum.node import NodeServer
    from dibs.testing.simulation.weather import Weather

DEAD_AFTER = 4.0
"""As with real lines."""


class Member(Process):
    """One process of a fleet that shares several servers."""

    def __init__(
        self,
        name: str,
        servers: Sequence[NodeServer],
        weather: Weather,
        random: Random,
        *,
        tell: Callable[[Process, Event], None],
    ) -> None:
        super().__init__(name, servers, QuorumLocks(DirectNode("")), weather, random, tell=tell)
        loop, keeper = Booth(self, servers, "loop", random), Booth(self, servers, "keeper", random)
        self.booths = (loop, keeper)
        self.channel = random.choice((loop, keeper)).channel
        self.world = SimWorld(self, [loop], "loop")
        self.keeper = Keeper(SimWorld(self, [keeper], "keeper"), self.desk)

    def all_lines(self) -> list[Line]:
        """Those that carry anything."""
        return [line for booth in self.booths for line in booth.lines]

    def heal(self, weather: Weather) -> None:
        self.weather = weather
        for line in self.all_lines():
            line.weather = weather

    def cut_all(self) -> None:
        for line in self.all_lines():
            line.cut()

    def cut_from(self, server: Server) -> None:
        """Its connections to one server break."""
        for line in self.all_lines():
            if line.is_to(server):
                line.cut()

    def deliver(self, push: Push, asked_at: float) -> None:
        """What a majority has told."""
        self.hear_push(push, asked_at)

    def ask_again(self) -> None:
        """A line was made anew."""
        self.hear_cut()


class Booth:
    """Where one lane of a process votes."""

    def __init__(self, member: Member, servers: Sequence[NodeServer], lane: str, random: Random) -> None:
        self._member, self._lane = member, lane
        self.channel = f"{member.name}/{lane}"
        council = Council("sim://", member, member.clock, DirectNode(""))
        self.lines = [
            Line(_Seat(member, council, number), server, self.channel, lane=lane, weather=member.weather, random=random)
            for number, server in enumerate(servers)
        ]
        council.nodes = [Node(number, _Post(line, member.agenda)) for number, line in enumerate(self.lines)]
        self._wire = QuorumWire(council, self.channel)

    def send(self, command: Command[Any], heard: Heard) -> None:
        """Put it to a vote; who is silent is not waited for."""
        member, agenda, is_asking = self._member, self._member.agenda, True

        def told(outcome: Reply | StoreUnreachable) -> None:
            if is_asking:  # nobody is resumed while it asks
                agenda.at(agenda.now, member.run, self._lane, heard, outcome)
            else:
                heard(outcome)

        ballot = self._wire.put(command.words, told)
        is_asking = False
        if ballot.is_urgent:
            self._watch(ballot)

    def _watch(self, ballot: Ballot) -> None:
        member, agenda = self._member, self._member.agenda
        if not ballot.is_decided and not member.is_dead:
            agenda.at(agenda.now + member.true_duration(NODE_PATIENCE), member.run, self._lane, self._hurry, ballot)

    def _hurry(self, ballot: Ballot) -> None:
        self._wire.hurry(ballot)
        self._watch(ballot)


class _Post:
    """A line of the simulator, as stores know lines."""

    channel = ""

    def __init__(self, line: Line, agenda: Agenda) -> None:
        self._line, self._agenda = line, agenda

    def post(self, words: Sequence[Any], node: int, heard: Heard) -> None:
        """Send; a connection on which there is no answer for long is given up."""
        is_answered = False

        def told(outcome: Reply | StoreUnreachable) -> None:
            nonlocal is_answered
            is_answered = True
            heard(outcome)

        def look() -> None:
            if not is_answered:
                self._line.cut()

        self._line.send(Command(words, _told_as_it_is), told)
        self._agenda.at(self._agenda.now + DEAD_AFTER, look)

    def close(self) -> None:
        """Nothing is to be given back."""


class _Seat:
    """The process at this end of a line, as far as one server is concerned."""

    def __init__(self, member: Member, council: Council, number: int) -> None:
        self._council, self._number, self._member = council, number, member
        self.clock, self.run = member.clock, member.run

    def hear_push(self, push: Push, asked_at: float) -> None:
        """A push arrived."""
        self._council.told(self._number, push, asked_at)

    def hear_cut(self) -> None:
        """A line was made anew."""
        self._council.ask_again(self._number)


def _told_as_it_is(reply: Any) -> Any:
    return reply
