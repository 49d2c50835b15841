"""The fleet as people look at it: its nodes, and what is to come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from dibs.model.calendar import Cron
from dibs.questions.pages import Page, shown

if TYPE_CHECKING:
    from dibs.flows.querying import Fire, Outlook
    from dibs.model.fleet import Node, State
    from dibs.model.job import Job


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node, as it was when it was last heard of. Times are in UTC."""

    name: str
    state: State
    """up, slow, down (not heard of for half a minute) or left (it said so)."""
    version: str
    """Of its program, as that says."""
    labels: tuple[str, ...]
    since: datetime
    beat_at: datetime
    """When it was last heard of, by the store's clock."""
    left_at: datetime | None
    skew: float
    """By how many seconds its machine's clock is ahead of the store's."""
    workers: int
    """So many runs may it have at once."""
    runs: tuple[str, ...]
    """The jobs it is at, the first hundred."""
    holds: tuple[str, ...]
    """The locks it holds, the first hundred."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A tick that is to come. Times are in its schedule's zone."""

    at: datetime
    """When it is to be run: a little after its tick, if there is jitter."""
    schedule: str
    job: str
    """The function that does it."""
    tick: datetime


class Forecast(Page[Upcoming]):
    """What is to come, in its order. For more, ask for what is due from the last one on."""

    __slots__ = ("_is_complete", "is_frozen")

    is_frozen: bool
    """Whether none of it is run before the fleet is thawed."""

    def __init__(self, outlook: Outlook) -> None:
        super().__init__([_upcoming(fire) for fire in outlook.fires])
        self._is_complete, self.is_frozen = outlook.is_complete, outlook.is_frozen

    @property
    def is_complete(self) -> bool:
        """Whether these are all of that time."""
        return self._is_complete


def node_view(node: Node, now: float) -> NodeView:
    """A node as it is shown at this moment of the store's clock."""
    return NodeView(
        node.name,
        node.state(now),
        node.version,
        node.labels,
        datetime.fromtimestamp(node.since, UTC),
        datetime.fromtimestamp(node.beat_at, UTC),
        shown(node.left_at),
        node.skew,
        node.workers,
        node.runs,
        node.holds,
    )


def _upcoming(fire: Fire) -> Upcoming:
    zone = zone_of(fire.job)
    at, tick = datetime.fromtimestamp(fire.at, zone), datetime.fromtimestamp(fire.tick, zone)
    return Upcoming(at, fire.job.name, fire.job.done_by, tick)


def zone_of(job: Job) -> tzinfo:
    """In which zone its times are told."""
    return job.calendar.zone.tzinfo if isinstance(job.calendar, Cron) else UTC
