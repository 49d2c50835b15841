"""Workers in many worlds: asks are lost, late and unheard, workers hang and die, and yet each round ends once."""

from __future__ import annotations

from random import Random

from dibs.errors import StoreUnreachable
from dibs.events import RunBuried
from dibs.flows.working import Turn
from dibs.model.rota import Ending
from tests.flows.hands import FAILED, OK, Hand, records
from tests.flows.scripted import SILENT, UNHEARD, Fate, Process, Scene, Task

WORLDS, ROUNDS, MOST, TTL = 20, 6, 4, 1.0
KINDS = ("sheets", "beat", "acquire", "leave", "lines")


class World:
    """A few workers, each in a process of its own, and what chance has for them."""

    def __init__(self, seed: int) -> None:
        self.chance, self.scene = Random(seed), Scene()
        self.turns: dict[tuple[float, int], Turn] = {}
        """By the tick of the round, and the attempt."""
        self.given_up: list[Turn] = []
        self.counted: dict[tuple[float, int], Ending] = {}
        self.finishes, self.burials = 0, 0
        self.processes = [self.scene.process(f"worker-{number}") for number in range(4)]
        for process in self.processes:
            process.start_keeper()
            for kind in KINDS:
                process.world.doom(kind, *[self._fate() for _ in range(60)])

    def play(self) -> None:
        tasks = [self.scene.spawn(self._serves(process)) for process in self.processes]
        self.scene.at(self.chance.uniform(0, 5), lambda: self._dies(tasks[0]))
        for task in tasks[1:]:
            self.scene.finish(task)
        self.scene.close()

    def _dies(self, task: Task[None]) -> None:
        process = self.processes[0]
        assert process.keeper is not None
        process.is_listening = process.hears_pushes = False
        process.keeper.drop()
        task.drop()

    async def _serves(self, process: Process) -> None:
        for _ in range(ROUNDS):
            hand, is_over = Hand(process, most=MOST, ttl=TTL), False
            while not is_over:
                try:
                    is_over = await self._tries(hand)
                except StoreUnreachable:
                    await process.world.pause(0.1)
            self.finishes += 1

    async def _tries(self, hand: Hand) -> bool:
        found, seen = await hand.watch.next(hand.stand), hand.process.told(RunBuried)
        self._refuse_hasty(seen)
        if not isinstance(found, Turn):
            return True
        key = found.run.tick, found.attempt
        self.turns[key] = found
        await self._works(hand.process)
        ending = OK if self.chance.random() < 0.4 else FAILED
        try:
            counts = await hand.settles(found, ending)
        except StoreUnreachable:
            self.given_up.append(found)
            raise
        if counts:
            self.counted[key] = ending
        return counts and ending is OK

    async def _works(self, process: Process) -> None:
        """For a while; now and then its process is cut off meanwhile, for longer than it may be."""
        process.world.is_silent = self.chance.random() < 0.2
        await process.world.pause(self.chance.uniform(0, 2 * TTL))
        process.world.is_silent = False

    def _refuse_hasty(self, burials: list[RunBuried]) -> None:
        """An attempt is given up only if its worker cannot believe any more that the lock is its own."""
        for event in burials:
            turn = self.turns.get((event.tick, event.attempt))
            if turn is None or turn in self.given_up:
                continue
            is_lost = turn.hold.lost_because is not None or turn.hold.tenure.trusted_until <= self.scene.now
            assert is_lost, event
            self.burials += 1

    def _fate(self) -> Fate:
        chance = self.chance.random()
        if chance < 0.08:
            return SILENT if chance < 0.04 else UNHEARD
        late = self.chance.uniform(0, 2 * TTL if chance < 0.14 else TTL / 10)
        return Fate(heard_after=late) if self.chance.random() < 0.5 else Fate(lands_after=late)


def faults(world: World) -> list[str]:
    """What is wrong with what was noted."""
    reader = world.scene.process("reader")
    found, rounds = list[str](), dict[int, list[tuple[int, str, bool, int]]]()
    for each in records(reader):
        rounds.setdefault(each.version, []).append((each.attempt, each.outcome, each.is_last, each.fence))
        said = world.counted.get((each.tick, each.attempt))
        if said is not None and said.outcome != each.outcome:
            found.append(f"round {each.version}: {said.outcome} counts, and {each.outcome} is noted")
    for number, lines in rounds.items():
        attempts, outcomes, lasts, fences = zip(*sorted(lines), strict=True)
        if list(attempts) != list(range(1, len(attempts) + 1)) or len(attempts) > MOST:
            found.append(f"round {number} has attempts {attempts}")
        if "ok" in outcomes[:-1] or True in lasts[:-1] or (number < max(rounds) and not lasts[-1]):
            found.append(f"round {number} goes {outcomes}, {lasts}")
        if list(fences) != sorted(set(fences)):
            found.append(f"round {number} has fences {fences}")
    return found


def test_each_round_ends_once_whatever_happens() -> None:
    finishes = burials = 0
    for seed in range(WORLDS):
        world = World(seed)
        world.play()
        assert not faults(world), seed
        finishes, burials = finishes + world.finishes, burials + world.burials
    assert finishes >= WORLDS * ROUNDS * 3
    assert burials > WORLDS
