"""One world of several servers from its seed to its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.flows import locking
from dibs.model.asks import CROWD
from dibs.model.quorum import majority
from dibs.model.request import Request
from dibs.model.tenure import Verdict
from dibs.testing.simulation.agenda import Agenda, Cancelled
from dibs.testing.simulation.quorum.member import Member
from dibs.testing.simulation.quorum.node import NodeServer
from dibs.testing.simulation.quorum.referee import QuorumReferee
from dibs.testing.simulation.story import Verdicts
from dibs.testing.simulation.weather import CALM, Weather, draw

if TYPE_CHECKING:
    from dibs.events import Event
    from dibs.flows.hold import Hold
    from dibs.testing.simulation.agenda import Task
    from dibs.testing.simulation.process import Process

DISASTERS = ("restart", "forget", "forget", "flush", "jump ahead", "jump back", "stall", "partition", "partition")
KINDS = (*[((1, False),)] * 8, ((1, True), (CROWD, True)), ((2, True), (2, True), (3, True)))


def play_quorum(seed: int, *, weather: Weather | None = None, with_trace: bool = False) -> Verdicts:
    """Run the world of a seed, in which a majority of several servers decides."""
    random = Random(seed)
    story = Story(random, weather or drawn(random), [] if with_trace else None)
    return story.told(seed)


def drawn(random: Random) -> Weather:
    """The weather of a world of several servers."""
    weather = draw(random)
    disasters = [random.choice(DISASTERS) for _ in range(random.choice((0, 1, 2, 3)))]
    return replace(weather, disasters=() if weather.is_prompt else tuple(disasters))


class Story:
    """The cast and the plot."""

    visits: Sequence[int] = (1, 2, 3)
    """How often each comes, in one world or another."""

    def __init__(self, random: Random, weather: Weather, trace: list[str] | None) -> None:
        self._random, self.weather, self.trace = random, weather, trace
        self._agenda = Agenda()
        size = random.choice((3, 3, 5))
        self._servers = [self._server() for _ in range(size)]
        if random.random() < 0.7:
            for server in self._servers:
                server.longest = 0.0
        self.referee = self._refereed()
        self._members: list[Member] = []
        self._scripts: list[tuple[Member, Task]] = []
        self._kinds = random.choice(KINDS)
        odd = random.sample(range(size), size - majority(size))
        self._forgetful = set(odd[: random.choice((1, len(odd)))])
        self._jumpy = set(range(size)) - self._forgetful
        # A lease on a bare majority is gone with one clock that jumps; only its fence protects from what comes then.
        self.referee.is_exclusive = not any("jump" in each for each in weather.disasters)
        self._has_healed = False

    def _refereed(self) -> QuorumReferee:
        return QuorumReferee(self._agenda, self._servers, self.trace)

    def _server(self) -> NodeServer:
        random, drift = self._random, self.weather.drift
        return NodeServer(
            self._agenda,
            rate=1 + random.uniform(-drift, drift),
            offset=1_000.0 + random.choice((0, 0, 5)) * random.random(),
        )

    def told(self, seed: int) -> Verdicts:
        """Run it, and tell what was seen."""
        self.run()
        referee = self.referee
        return Verdicts(seed, self.weather, tuple(referee.faults), referee.counts, tuple(self.trace or ()))

    def run(self) -> None:
        """Rising action, healing, and the end."""
        random, ttl = self._random, self.weather.ttl
        for number in range(random.choice((2, 2, 3))):
            member = Member(f"p{number}", self._servers, self.weather, random, tell=self._tell)
            self._members.append(member)
            member.spawn(member.keeper.serve(member.nudges), "keeper")
            if "partition" in self.weather.disasters and random.random() < 0.3:  # from the start, it knows less
                self._part(member, random.choice(self._servers), random.uniform(0.5, 3) * ttl)
            for _ in range(random.choice((1, 1, 2))):
                self._scripts.append((member, member.spawn(self._client(member))))
        for disaster in self.weather.disasters:
            self._agenda.at(random.uniform(0.02, 3) * ttl, self._strike, disaster)
        heals_at = random.uniform(1, 4) * ttl
        self._agenda.run(heals_at, self._is_over)
        self._heal()
        self._agenda.run(heals_at + 60 * ttl + 120, self._is_over)
        self._agenda.run(self._agenda.now + 6 * ttl + 4, lambda: False)
        self._judge()

    def _heal(self) -> None:
        self.referee.note("world", "heals")
        self._has_healed, self.referee.healed_at = True, self._agenda.now
        for member in self._members:
            self._heal_one(member)

    def _heal_one(self, member: Member) -> None:
        member.heal(replace(CALM, ttl=self.weather.ttl))

    def _is_over(self) -> bool:
        return all(member.is_dead or (task.is_done and not member.desk.debts) for member, task in self._scripts)

    def _judge(self) -> None:
        for member, task in self._scripts:
            if task.error is not None:
                self.referee.failed(member, task.error)
            elif not task.is_done and not member.is_dead:
                self.referee.still_busy(member)
        alive = {member.name for member in self._members if not member.is_dead}
        self.referee.judge_remains(alive, 4 * self.weather.ttl + 10)
        for member in self._members:
            member.end()

    def _tell(self, process: Process, event: Event) -> None:
        self.referee.note(process.name, repr(event))

    # What the clients do.

    async def _client(self, member: Member) -> None:
        for _ in range(self._random.choice(self.visits)):
            try:
                await self._once(member)
            except Cancelled:
                self.referee.counts["cancelled"] += 1
            except StoreUnreachable as error:
                self.referee.unreachable(member, error)

    async def _once(self, member: Member) -> None:
        asked_after = self.referee.newest
        taken = await locking.acquire(member.world, member.desk, self._request())
        if isinstance(taken, locking.Denied):
            self.referee.counts["busy"] += 1
            return
        self.referee.entered(member, taken, asked_after=asked_after)
        try:
            await self._work(member, taken)
        finally:
            loss = await locking.release(member.world, member.desk, taken)
            self.referee.released(member, taken, cleanly=loss is None)

    async def _work(self, member: Member, hold: Hold) -> None:
        random, ttl = self._random, hold.request.ttl
        for _ in range(random.choice((1, 1, 2))):
            await member.world.pause(random.choice((0.01, 0.1, 0.5, 1.5, 3.0)) * random.random() * ttl)
            if hold.check(member.world.now()) is Verdict.LOST:
                return
            self._agenda.at(self._agenda.now + self.weather.delay(random), self.referee.write, member, hold)
            if random.random() < 0.2:
                await locking.prolong(member.world, member.desk, hold)

    def _request(self) -> Request:
        random, ttl = self._random, self.weather.ttl
        room, is_counted = random.choice(self._kinds)
        wait = random.choice((None, None, 0.0, random.uniform(0.1, 3) * ttl))
        its_ttl = ttl * random.choice((1.0, 1.0, 0.5))
        return Request("a", its_ttl, wait, renew=random.random() < 0.8, room=room, is_counted=is_counted)

    # What befalls the servers.

    def _strike(self, disaster: str) -> None:
        if self._has_healed:
            return
        random, ttl = self._random, self.weather.ttl
        self.referee.note("world", disaster)
        self.referee.counts[disaster] += 1
        match disaster:
            case "restart":
                self._restart(random.choice(self._servers))
            case "forget":
                server = self._servers[random.choice(sorted(self._forgetful))]
                server.forget()
                self._restart(server)
            case "flush":
                self._servers[random.choice(sorted(self._forgetful))].forget()
            case "jump ahead":
                self._servers[random.choice(sorted(self._jumpy))].offset += random.uniform(0.2, 5) * ttl
            case "jump back":
                self._servers[random.choice(sorted(self._jumpy))].offset -= random.uniform(0.2, 2) * ttl
            case "stall":
                random.choice(self._servers).stalled_until = self._agenda.now + random.uniform(0.2, 1.5) * ttl
            case _:
                self._part(random.choice(self._members), random.choice(self._servers), random.uniform(0.2, 2) * ttl)

    def _restart(self, server: NodeServer) -> None:
        server.stalled_until = self._agenda.now + self._random.uniform(0.01, 0.5)
        for member in self._members:
            member.cut_from(server)

    def _part(self, member: Member, server: NodeServer, lasts: float) -> None:
        """No message passes between these two for a while."""
        for line in member.all_lines():
            if line.is_to(server):
                was, line.weather = line.weather, replace(line.weather, lost=1.0)
                self._agenda.at(self._agenda.now + lasts, self._rejoin, line, was)

    def _rejoin(self, line: object, was: Weather) -> None:
        if not self._has_healed:
            line.weather = was  # type: ignore[attr-defined]
