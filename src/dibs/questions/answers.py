"""How questions about jobs are answered: checked, asked, and shown as people look at it. For both colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

from dibs.errors import ConfigError
from dibs.flows import inquiry, querying, recalling
from dibs.flows.muster import survey
from dibs.flows.querying import Runs, Time
from dibs.model.names import lock_fault, name_fault
from dibs.model.record import Outcome
from dibs.model.timings import duration, lateness
from dibs.options import checked_name
from dibs.questions.history import Timings, act_view, run_view
from dibs.questions.holds import HoldView, hold_view
from dibs.questions.outlook import Forecast, node_view
from dibs.questions.pages import MOMENTS, USUAL, Page, moment, place, question, shown
from dibs.questions.queries import PagePart, Part, RunFilters, TimeSpan
from dibs.questions.reasons import Why, why_view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.flows.desk import Desk
    from dibs.model.sheet import Question
    from dibs.ports.world import World
    from dibs.questions.history import ActView, RunView
    from dibs.questions.outlook import NodeView

STATES = get_args(Outcome)


class Answers:
    """What can be asked by one who has this way to the store."""

    def __init__(self, world: World, desk: Desk) -> None:
        self._world, self._desk = world, desk

    async def runs(self, job: object, wanted: RunFilters) -> Page[RunView]:
        """What became of runs."""
        page = _page(wanted, RunFilters)
        meant = Runs(_job(job), _state(wanted.get("state")), _node(wanted.get("node")))
        found = await querying.runs(self._world, self._desk, meant, page)
        return Page([run_view(name, record) for name, record in found.lines], place(found.rest))

    async def timings(self, job: object, time: TimeSpan) -> Timings:
        """How late they were, and how long they took."""
        meant, span = Runs(_job(job)), _time(_page(time, TimeSpan))
        found = await querying.timed(self._world, self._desk, meant, time=span)
        records = [record for _, record in found.lines]
        ticks = [record.tick for record in records]
        first, last = shown(min(ticks, default=None)), shown(max(ticks, default=None))
        return Timings(len(records), first, last, lateness(records), duration(records), found.rest is None)

    async def upcoming(self, job: object, part: Part) -> Forecast:
        """What is to come."""
        name, page = _job(job), _page(part, Part)
        outlook = await querying.upcoming(self._world, self._desk, name, time=_time(page), limit=page.limit)
        return Forecast(outlook)

    async def nodes(self) -> Sequence[NodeView]:
        """Who serves."""
        fleet = await survey(self._world, self._desk)
        return [node_view(node, fleet.at) for node in fleet.nodes]

    async def acts(self, job: object, part: PagePart) -> Page[ActView]:
        """Who did what."""
        name, page = _job(job), _page(part, PagePart)
        found = await querying.acts(self._world, self._desk, name, page)
        return Page([act_view(sheet, act) for sheet, act in found.lines], place(found.rest))

    async def why(self, job: object, at: object) -> Why:
        """Why a tick did or did not run."""
        name = _job(job)
        if not name or at is None:
            raise ConfigError(f"why({name or None!r}, {at!r}): name a job, and a moment with its time zone")
        return why_view(name, await inquiry.why(self._world, self._desk, name, moment("at", at, usual=0.0)))

    async def held_at(self, at: object, name: object) -> Sequence[HoldView]:
        """Who held what."""
        if at is None:
            raise ConfigError(f"moment={at!r}: {MOMENTS}")
        only = None if name is None else checked_name(cast("str", name))
        found = await recalling.held_at(self._world, self._desk, moment("moment", at, usual=0.0), name=only)
        return [hold_view(each) for each in found]

    async def lock_history(self, name: str, part: Part) -> Sequence[HoldView]:
        """Who held one lock."""
        page, lock = _page(part, Part), checked_name(name)
        found = await recalling.holds_of(
            self._world, self._desk, lock, since=page.since, until=page.until, limit=page.limit
        )
        return [hold_view(each) for each in found]


def _job(job: object) -> str:
    """The name of the job that is meant; nothing for all."""
    if job is None:
        return ""
    name: object = getattr(job, "name", job)
    if fault := lock_fault(name, what="a job's name"):
        raise ConfigError(f"{name!r} names no job: {fault}")
    return cast("str", name)


def _state(state: object) -> str:
    if state is None:
        return ""
    if state not in STATES:
        raise ConfigError(f"state={state!r}: say one of {', '.join(map(repr, STATES))}")
    return cast("str", state)


def _node(node: object) -> str:
    if node is None:
        return ""
    if fault := name_fault(node, what="a node's name"):
        raise ConfigError(f"node={node!r}: {fault}; d.nodes() shows those that there are")
    return cast("str", node)


def _page(said: Mapping[str, Any], known: type[Any]) -> Question:
    """Which part is wanted, and nothing beside it that nobody knows."""
    names = known.__annotations__.keys()
    if unknown := sorted(said.keys() - names):
        raise ConfigError(f"no such option here: {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    return question(said.get("since"), said.get("until"), limit=said.get("limit", USUAL), after=said.get("after"))


def _time(page: Question) -> Time:
    return Time(page.since, page.until)
