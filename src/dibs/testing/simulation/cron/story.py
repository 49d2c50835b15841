"""One world of jobs from its seed to its verdict: a few nodes, a few jobs, some weather."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from random import Random
from typing import TYPE_CHECKING

from dibs.flows.bearings import SETTLING
from dibs.model.request import PATIENCE
from dibs.stores.direct import DirectLocks
from dibs.testing.simulation.agenda import Agenda
from dibs.testing.simulation.cron.node import Node
from dibs.testing.simulation.cron.people import Person
from dibs.testing.simulation.cron.programs import Program, draw_program, draw_programs
from dibs.testing.simulation.cron.referee import CronReferee
from dibs.testing.simulation.cron.rollout import FORGOTTEN_AFTER
from dibs.testing.simulation.cron.server import CronServer
from dibs.testing.simulation.cron.submitter import Submitter
from dibs.testing.simulation.process import Process
from dibs.testing.simulation.story import Verdicts
from dibs.testing.simulation.weather import CALM, Weather, draw

if TYPE_CHECKING:
    from dibs.model.job import Job
    from dibs.testing.simulation.agenda import Task

DISASTERS = (
    *("restart", "forget", "forget", "flush", "jump ahead", "jump back", "stall", "stall"),
    *("kill", "kill", "leave", "leave", "fleet down"),
)
MOST_NODES = 14
STEPS = 0.3
"""In so many worlds there are steps."""


def play_cron(seed: int, *, weather: Weather | None = None, with_trace: bool = False) -> Verdicts:
    """Run the world of jobs of a seed. The same seed is the same world, to the last message."""
    random, people = Random(seed), Random(f"people of {seed}")
    story = _CronStory(random, people, weather or draw_cron(random), [] if with_trace else None)
    story.begin_steps(Random(f"orders of {seed}"))
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

    def __init__(self, random: Random, people: Random, weather: Weather, trace: list[str] | None) -> None:
        self._random, self._people, self.weather, self.trace = random, people, weather, trace
        self._agenda = Agenda()
        self._server = CronServer(self._agenda, rate=1 + random.uniform(-weather.drift, weather.drift))
        first = draw_program(random, weather.ttl)
        self._programs = draw_programs(first, people, weather.ttl)
        self._program: Program = first
        self._begun: Sequence[Program] = [first]
        """What is deployed, and what nodes are begun with."""
        run_alone = {duty.name for duty in first.duties.values() if duty.on_outage == "open"}
        self.referee = CronReferee(self._server, run_alone, trace)
        self.referee.places = random.choice((100, 2))
        self.referee.come_twice = bool(weather.twice)
        self.referee.almanac.is_attended = self._is_attended
        self._nodes: list[tuple[Node, Task]] = []
        self._persons: list[tuple[Person, Task]] = []
        self._submitters: list[tuple[Submitter, Task]] = []
        self._has_healed = self._is_closing = False

    def run(self) -> None:
        """Rising action, healing, a while in which all must go well, and the end."""
        random, agenda = self._random, self._agenda
        for _ in range(random.choice((2, 2, 3, 4, 5))):
            agenda.at(random.choice((0.0, 1.0, 6.0)) * random.random(), self._begin)
        heals_at = random.uniform(4, 16)
        self._begin_people(heals_at)
        for disaster in self.weather.disasters:
            agenda.at(random.uniform(1, heals_at), self._strike, disaster)
        self._pass(heals_at)
        self._heal()
        clear_at = heals_at + 3 * self.weather.ttl + 2 * PATIENCE + SETTLING + 2
        if all(node.crew.places > 2 for node, _ in self._nodes):
            self.referee.almanac.clear_from = clear_at
        ends_at = clear_at + 2 * self.weather.ttl + 4
        self._pass(max(ends_at, heals_at + FORGOTTEN_AFTER + 2) if len(self._programs) > 1 else ends_at)
        self.referee.judge_remains()
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
        name, program = f"n{len(self._nodes)}", self._people.choice((self._program, *self._begun))
        process = Process(name, [self._server], DirectLocks(""), weather, self._random, tell=self.referee.told)
        self.referee.rollout.comes(program)
        node = self.referee.nodes[name] = Node(process, program, self.referee, self._random)
        self._nodes.append((node, process.spawn(self._live(node))))

    async def _live(self, node: Node) -> None:
        await node.run()
        if not self._has_healed and self._random.random() < 0.7:
            self._agenda.at(self._agenda.now + 5 * self._random.random(), self._begin)

    def _is_attended(self, job: Job) -> bool:
        """Whether one of the nodes that stay can do it."""
        return any(job.done_by in node.program.duties for node in self._alive() if not node.is_told_to_leave)

    def _alive(self) -> list[Node]:
        return [node for node, _ in self._nodes if not node.process.is_dead]

    def _heal(self) -> None:
        """From here on nothing goes wrong any more; what was under way still arrives."""
        self.referee.note("world", "heals")
        self._has_healed = True
        well = replace(CALM, ttl=self.weather.ttl)
        for node in self._alive():
            node.process.heal(well)
        for person, _ in self._persons:
            person.heal(well)
        for submitter, _ in self._submitters:
            submitter.process.heal(well)
        self._begin()
        if self._persons and all(person.process.is_dead for person, _ in self._persons):
            self._come(well)
        if len(self._programs) > 1 and self._people.random() < 0.5:
            self._roll(self._people.choice(self._programs))

    def _close(self) -> None:
        """All who are left go home."""
        self.referee.note("world", "closes")
        self._is_closing = True
        for node in self._alive():
            node.told_to_leave(self._random.random())
        for process, _ in self._others():
            process.crash()

    def _others(self) -> Sequence[tuple[Process, Task]]:
        """Who acts on the fleet from outside."""
        people = [(person.process, task) for person, task in self._persons]
        return [*people, *((submitter.process, task) for submitter, task in self._submitters)]

    def _judge(self) -> None:
        everybody = [*((node.process, task) for node, task in self._nodes), *self._others()]
        for process, task in everybody:
            if task.error is not None:
                self.referee.failed(process, task.error)
        self.referee.judge_left()
        for process, _ in everybody:
            process.end()

    # People, and what they deploy.

    def begin_steps(self, random: Random) -> None:
        """In some worlds somebody hands steps to the fleet."""
        if random.random() < STEPS:
            self._agenda.at(random.uniform(0, 3), self._submit, random)

    def _submit(self, random: Random) -> None:
        process = Process("s0", [self._server], DirectLocks(""), self.weather, random, tell=self.referee.told)
        submitter = Submitter(process, self.referee, random)
        self._submitters.append((submitter, process.spawn(submitter.run())))

    def _begin_people(self, heals_at: float) -> None:
        people, agenda = self._people, self._agenda
        if people.random() < 0.6:
            impatient = replace(self.weather, cancel=10 * self.weather.cancel)
            agenda.at(people.uniform(0, 3), self._come, impatient)
        for _ in range(people.choice((1, 1, 2)) if len(self._programs) > 1 else 0):
            agenda.at(people.uniform(0.5, heals_at), self._deploy)

    def _come(self, weather: Weather) -> None:
        """Somebody begins to act."""
        name = f"p{len(self._persons)}"
        process = Process(name, [self._server], DirectLocks(""), weather, self._people, tell=self.referee.told)
        person = Person(process, self.referee, self._server, self._people)
        if self._has_healed:
            person.heal(weather)
        self._persons.append((person, process.spawn(person.run())))

    def _deploy(self) -> None:
        """The other version of the code is rolled out, to some of the nodes or to all."""
        if not self._has_healed:
            self._program = next(each for each in self._programs if each is not self._program)
            self.referee.note("world", f"deploys {self._program.version}")
            self.referee.counts["deployed"] += 1
            self._begun = self._programs
            self._begin()
            if self._people.random() < 0.6:
                self._roll(self._program)

    def _roll(self, program: Program) -> None:
        """One after the other, the nodes of other code leave, and others come."""
        self._program, self._begun = program, [program]
        others = [node for node in self._alive() if node.program is not program]
        for number, node in enumerate(others):
            self._agenda.at(self._agenda.now + 0.3 * number, node.told_to_leave, self._people.random())
        self._begin()

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
