"""Fan-out under attack: one lock on three copies, held by whoever has a majority of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from dibs.errors import StoreUnreachable
from dibs.events import Event
from dibs.model.asks import Acquire, AcquireAnswer, Granted, Leave
from dibs.model.tenure import Tenure, Verdict
from dibs.ports.world import Outcome
from dibs.stores.direct import DirectLocks
from dibs.testing.simulation.agenda import Agenda, Cancelled
from dibs.testing.simulation.network import Server
from dibs.testing.simulation.process import Process
from dibs.testing.simulation.story import Verdicts
from dibs.testing.simulation.weather import draw
from dibs.testing.simulation.world import SimWorld

COPIES = 3
MAJORITY = 2


async def acquire_majority(world: SimWorld, stores: Sequence[DirectLocks], owner: str, ttl: float) -> Tenure | None:
    """Ask all copies at once, decide as soon as the answer is known, and leave all of them if it is no."""
    asked_at, at = world.now(), world.store_time() or 1_000.0
    ask = Acquire(owner, ttl, at + 10 * ttl, channel="", who=owner, queue=False)
    commands = [store.acquire("a", ask) for store in stores]
    try:
        outcomes = await world.ask_all(commands, ttl / 2, _is_settled)
    except BaseException:
        leave_all(world, stores, owner, bar_until=ask.not_after)
        raise
    tenure = Tenure(ttl, asked_at)
    if sum(isinstance(outcome, Granted) for outcome in outcomes) >= MAJORITY and not _is_over(tenure, world):
        return tenure
    leave_all(world, stores, owner, bar_until=ask.not_after)
    return None


def leave_all(world: SimWorld, stores: Sequence[DirectLocks], owner: str, *, bar_until: float | None) -> None:
    """Leave every copy, behind what may still be on its way there."""
    for store in stores:
        world.later(store.leave("a", Leave(owner, bar_until)), lambda _: None)


def play_copies(seed: int) -> Verdicts:
    """A few clients and one lock on three copies; tells of any two who believed in it at once."""
    random = Random(seed)
    weather = replace(draw(random), disasters=())
    agenda = Agenda()
    servers = [Server(agenda, rate=1 + random.uniform(-weather.drift, weather.drift)) for _ in range(COPIES)]
    stores = [DirectLocks("", node=node) for node in range(COPIES)]
    inside: dict[str, tuple[Process, Tenure]] = {}
    faults: list[str] = []
    counts: Counter[str] = Counter()

    async def client(process: Process) -> None:
        for _ in range(2):
            owner = process.token()
            try:
                tenure = await acquire_majority(process.world, stores, owner, weather.ttl)
                if tenure is None:
                    counts["refused"] += 1
                    await process.world.pause(random.random() * weather.ttl)
                    continue
                counts["entered"] += 1
                believers = [name for name, (who, trust) in inside.items() if who.clock() < trust.trusted_until]
                if believers and not process.is_dead:
                    faults.append(f"I1: {owner} entered while {believers} believed, too")
                inside[owner] = (process, tenure)
                await process.world.pause(random.random() * weather.ttl)
            except (Cancelled, StoreUnreachable):
                counts["cancelled"] += 1
            finally:
                inside.pop(owner, None)
                leave_all(process.world, stores, owner, bar_until=None)

    processes = [Process(f"p{number}", servers, stores[0], weather, random, tell=_tell_nobody) for number in range(3)]
    for process in processes:
        process.spawn(client(process))
    agenda.run(20 * weather.ttl, lambda: False)
    for process in processes:
        process.end()
    return Verdicts(seed, weather, tuple(faults), counts)


def _tell_nobody(_process: Process, _event: Event) -> None:
    pass


def _is_settled(outcomes: Sequence[Outcome[AcquireAnswer] | None]) -> bool:
    """A majority has said yes, or so many have not that none can."""
    granted = sum(isinstance(outcome, Granted) for outcome in outcomes)
    still_out = sum(outcome is None for outcome in outcomes)
    return granted >= MAJORITY or granted + still_out < MAJORITY


def _is_over(tenure: Tenure, world: SimWorld) -> bool:
    return tenure.judge(world.now()) is Verdict.LOST
