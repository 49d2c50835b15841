"""One world of jobs from its seed to its verdict: a few nodes, a few jobs, some weather."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random
from typing import TYPE_CHECKING

from dibs.flows.bearings import SETTLING
from dibs.flows.duty import Duty
from dibs.model.job import Terms
from dibs.model.request import PATIENCE
from dibs.stores.direct import DirectLocks
from dibs.testing.simulation.agenda import Agenda
from dibs.testing.simulation.cron.node import Node
from dibs.testing.simulation.cron.referee import CronReferee
from dibs.testing.simulation.cron.server import CronServer
from dibs.testing.simulation.process import Process
from dibs.testing.simulation.story import Verdicts
from dibs.testing.simulation.weather import CALM, Weather, draw

if TYPE_CHECKING:
    from dibs.model.policy import OnOutageOfJob
    from dibs.testing.simulation.agenda import Task

DISASTERS = (
    *("restart", "forget", "forget", "flush", "jump ahead", "jump back", "stall", "stall"),
    *("kill", "kill", "leave", "leave", "fleet down"),
)
MOST_NODES = 12


def play_cron(seed: int, *, weather: Weather | None = None, with_trace: bool = False) -> Verdicts:
    """Run the world of jobs of a seed. The same seed is the same world, to the last message."""
    random = Random(seed)
    story = _CronStory(random, weather or draw_cron(random), [] if with_trace else None)
    story.run()
    referee = story.referee
    return Verdicts(seed, story.weather, tuple(referee.faults), referee.counts, tuple(story.trace or ()))


def draw_cron(random: Random) -> Weather:
    """As for locks; but a node lives for many awaits, so what befalls it at one of them is rarer."""
    weather = draw(random)
    disasters = [random.choice(DISASTERS) for _ in range(random.choice((0, 1, 1, 2, 3)))]
    return replace(
        weather,
        ttl=min(weather.ttl, 4.0),
        lost=weather.lost * 0.5,
        cut=weather.cut * 0.5,
        cancel=weather.cancel * 0.05,
        pause=weather.pause * 0.2,
        hang=weather.hang * 0.2,
        crash=weather.crash * 0.1,
        disasters=() if weather.is_prompt else tuple(disasters),
    )


class _CronStory:
    """The cast and the plot."""

    def __init__(self, random: Random, weather: Weather, trace: list[str] | None) -> None:
        self._random, self.weather, self.trace = random, weather, trace
        self._agenda = Agenda()
        self._server = CronServer(self._agenda, rate=1 + random.uniform(-weather.drift, weather.drift))
        self._duties = self._draw_duties()
        self.referee = CronReferee(self._server, self._duties, trace)
        self.referee.places = random.choice((100, 2))
        self.referee.come_twice = bool(weather.twice)
        self._nodes: list[tuple[Node, Task]] = []
        self._has_healed = self._is_closing = False

    def _draw_duties(self) -> dict[str, Duty]:
        random = self._random
        is_open = random.random() < 0.2
        duties: dict[str, Duty] = {}
        for name in ["a", "b", "c"][: random.choice((1, 1, 2, 3))]:
            period = random.choice((1, 1, 2, 3, 5))
            policy: OnOutageOfJob = "open" if is_open and random.random() < 0.7 else "closed"
            duties[name] = Duty(name, f"every {period}s", self._draw_terms(), policy)
        return duties

    def _draw_terms(self) -> Terms:
        random, ttl = self._random, self.weather.ttl * self._random.choice((1.0, 1.0, 2.0))
        return Terms(
            overlap=random.choice(("skip", "skip", "queue", "cancel", "allow")),
            catch_up=random.choice(("latest", "latest", "all", "none")),
            most=random.choice((100, 3)),
            grace=random.choice((3600.0, 3600.0, 10.0)),
            retries=random.choice((0, 0, 2)),
            retry_delay=random.uniform(0.1, 2),
            timeout=random.choice((None, None, ttl * random.random() * 2)),
            max_attempts=random.choice((1, 1, 3)),
            ttl=ttl,
        )

    def run(self) -> None:
        """Rising action, healing, a while in which all must go well, and the end."""
        random, agenda = self._random, self._agenda
        for _ in range(random.choice((2, 2, 3, 4, 5))):
            agenda.at(random.choice((0.0, 1.0, 6.0)) * random.random(), self._begin)
        heals_at = random.uniform(4, 16)
        for disaster in self.weather.disasters:
            agenda.at(random.uniform(1, heals_at), self._strike, disaster)
        self._pass(heals_at)
        self._heal()
        clear_at = heals_at + 3 * self.weather.ttl + 2 * PATIENCE + SETTLING + 2
        if all(node.crew.places > 2 for node, _ in self._nodes):
            self.referee.almanac.clear_from = clear_at
        self._pass(clear_at + 2 * self.weather.ttl + 4)
        self.referee.almanac.judge_remains()
        self.referee.almanac.clear_from = inf
        self._close()
        self._pass(agenda.now + 3 * PATIENCE)
        self._judge()

    def _pass(self, until: float) -> None:
        """Let time pass; a world in which a promise was broken need not go on, unless somebody looks on."""
        self._agenda.run(until, lambda: bool(self.referee.faults) and self.trace is None)

    def _begin(self) -> None:
        """A node starts."""
        if len(self._nodes) >= MOST_NODES or self._is_closing:
            return
        weather = replace(CALM, ttl=self.weather.ttl) if self._has_healed else self.weather
        name = f"n{len(self._nodes)}"
        process = Process(name, [self._server], DirectLocks(""), weather, self._random, tell=self.referee.told)
        node = self.referee.nodes[name] = Node(process, self._duties, self.referee, self._random)
        self._nodes.append((node, process.spawn(self._live(node))))

    async def _live(self, node: Node) -> None:
        await node.run()
        if not self._has_healed and self._random.random() < 0.7:
            self._agenda.at(self._agenda.now + 5 * self._random.random(), self._begin)

    def _alive(self) -> list[Node]:
        return [node for node, _ in self._nodes if not node.process.is_dead]

    def _heal(self) -> None:
        """From here on nothing goes wrong any more; what was under way still arrives."""
        self.referee.note("world", "heals")
        self._has_healed = True
        well = replace(CALM, ttl=self.weather.ttl)
        for node in self._alive():
            node.process.heal(well)
        self._begin()

    def _close(self) -> None:
        """All who are left go home."""
        self.referee.note("world", "closes")
        self._is_closing = True
        for node in self._alive():
            node.told_to_leave(self._random.random())

    def _judge(self) -> None:
        for node, task in self._nodes:
            if task.error is not None:
                self.referee.failed(node.process, task.error)
        self.referee.judge_left()
        for node, _ in self._nodes:
            node.process.end()

    # What befalls the server and the fleet.

    def _strike(self, disaster: str) -> None:
        if self._has_healed:
            return
        self.referee.note("world", disaster)
        self.referee.counts[disaster] += 1
        random, agenda, alive = self._random, self._agenda, self._alive()
        match disaster:
            case "restart":
                self._restart()
            case "forget" | "flush":
                self._forget(agenda.now - random.uniform(0.2, 1.0) if disaster == "forget" else -inf)
            case "jump ahead" | "jump back":
                self._jump(random.choice((1.0, 10.0)) * random.random() * (1 if disaster == "jump ahead" else -1))
            case "stall":
                self._server.stalled_until = agenda.now + random.uniform(0.5, 8)
            case "leave" if alive:
                random.choice(alive).told_to_leave(random.choice((0.0, 1.0, 4.0)) * random.random())
                agenda.at(agenda.now + 5 * random.random(), self._begin)
            case _:
                dead = alive if disaster == "fleet down" else alive[:1]
                for node in dead:
                    node.process.crash()
                    agenda.at(agenda.now + 8 * random.random(), self._begin)

    def _jump(self, by: float) -> None:
        self._server.offset += by
        self.referee.jumped(by)

    def _forget(self, since: float) -> None:
        self._server.forget_since(since)
        self.referee.forgot(since)
        self._restart()

    def _restart(self) -> None:
        self._server.begin_life()
        self._server.stalled_until = self._agenda.now + self._random.uniform(0.01, 0.5)
        for node in self._alive():
            node.process.cut_all()
