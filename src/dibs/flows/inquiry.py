"""How it is found out why a tick did or did not run: by reading what is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.errors import NoSuchJob
from dibs.flows import journal
from dibs.flows.asking import ask
from dibs.flows.muster import survey
from dibs.flows.sheets import look, readable
from dibs.model.facts import ROUNDING, Facts
from dibs.model.fleet import DOWN_AFTER, FLEET, freeze_of
from dibs.model.record import LATE, RAN, Act, Record, of_acts, of_tick
from dibs.model.sheet import Question
from dibs.model.spans import covering
from dibs.model.ticks import PUNCTUAL
from dibs.model.why import why as told

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.model.facts import Answer
    from dibs.ports.world import World

MOST_ACTS = 2_000
"""So much is looked at of what was done to a job, or happened to the fleet."""
EARLIER = 20
"""So many runs before a tick may have been in its way."""


async def why(world: World, desk: Desk, name: str, at: float) -> Answer:
    """Why the tick of a job at that moment, or the last before it, did or did not run."""
    return told(await facts(world, desk, name, at))


async def facts(world: World, desk: Desk, name: str, at: float) -> Facts:
    """All that is known about it."""
    known = await _job(world, desk, Facts(name, at, 0.0))
    tick = known.tick()
    if tick is None:
        return known
    known = await _tick(world, desk, known, tick)
    return await _around(world, desk, known, tick)


async def _job(world: World, desk: Desk, known: Facts) -> Facts:
    """How it stands, what was done to it, and which tick was the last of which anything is known."""
    reading = await look(world, desk, desk.store.sheets([known.name, FLEET]))
    sheets, now = reading.look.sheets, reading.look.now
    job = next(iter(readable(sheets)), None)
    freeze = next((freeze_of(sheet, now) for sheet in sheets if sheet.name == FLEET), None)
    acts = await _acts(world, desk, Question(of_acts(known.name), limit=MOST_ACTS))
    before = Question(known.name, until=known.at + ROUNDING, limit=1)
    nearest = await journal.found(world, desk, before, Record, fits=_is_by_its_tick)
    if job is None and not acts and not nearest.lines:
        raise NoSuchJob(known.name)
    last = nearest.lines[0][1] if nearest.lines else None
    fleet = await survey(world, desk)
    return replace(known, now=now, job=job, freeze=freeze, acts=acts, nearest=last, fleet=fleet)


async def _tick(world: World, desk: Desk, known: Facts, tick: float) -> Facts:
    """What became of it, and of some before it."""
    told = await _records(world, desk, Question(known.name, since=tick, until=tick, limit=journal.PAGE))
    own = [record for record in told if not known.was_overtaken(record)]
    filled_in = await _records(world, desk, Question(of_tick(known.name, tick)))
    records = sorted([*own, *filled_in], key=lambda record: (record.attempt, record.at))
    together = () if records else await _told_together(world, desk, known.name, tick)
    lines = await ask(world, desk.store.lines(Question(known.name, until=tick, limit=1)), desk.patience)
    before = Question(known.name, until=tick, limit=EARLIER)
    earlier = (await journal.found(world, desk, before, Record, fits=_is_by_its_tick)).lines
    return replace(
        known,
        records=records or together,
        earlier=[each for _, each in earlier if each.tick < tick],
        reaches_back=bool(lines),
    )


async def _told_together(world: World, desk: Desk, name: str, tick: float) -> Sequence[Record]:
    """Of very many that were missed, one record tells."""

    def stands_for_it(record: Record) -> bool:
        return record.since is not None and record.since <= tick <= record.tick

    found = await journal.found(world, desk, Question(name, since=tick, limit=1), Record, fits=stands_for_it)
    return [replace(record, tick=tick) for _, record in found.lines]


async def _around(world: World, desk: Desk, known: Facts, tick: float) -> Facts:
    """What happened to the fleet around it."""
    due = known.due_at(tick)
    until = max([due, *(record.at for record in known.records)]) + DOWN_AFTER if known.records else known.now
    before = Question(of_acts(FLEET), until=due, limit=1)
    freeze = await journal.found(world, desk, before, Act, fits=lambda act: act.act in {"frozen", "thawed"})
    since = await _acts(world, desk, Question(of_acts(FLEET), since=due, until=until, limit=MOST_ACTS))
    events = [*(act for _, act in freeze.lines if act.at < due), *since]
    return replace(known, events=events, beside=await _beside(world, desk, known, due))


async def _beside(world: World, desk: Desk, known: Facts, due: float) -> int:
    """How many others the node of a late run was at when that was due."""
    begun = [record for record in known.records if record.started_at]
    if not begun or begun[0].started_at - due <= PUNCTUAL:
        return 0
    found = list[Record]()
    for question in covering(RAN, due):
        anytime = Question(question.tag, limit=question.limit)  # these are dated by their ticks, not by their ends
        found += await _records(world, desk, anytime)
    return sum(each.node == begun[0].node and each.started_at <= due < each.ended_at for each in found)


async def _records(world: World, desk: Desk, question: Question) -> Sequence[Record]:
    return [record for _, record in await journal.runs(world, desk, question)]


async def _acts(world: World, desk: Desk, question: Question) -> Sequence[Act]:
    """The oldest first."""
    found = await journal.found(world, desk, question, Act, fits=lambda act: act.act != "submitted")
    return [act for _, act in reversed(found.lines)]


def _is_by_its_tick(record: Record) -> bool:
    return record.source not in LATE
