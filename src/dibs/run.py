"""What a job's body learns of its run, and can say of it."""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dibs.errors import ConfigError, LeaseLost, NoFence, RunStopped
from dibs.flows.duty import NOT_RENEWED, TIMEOUT, Underway
from dibs.jobs.runlog import Lines, RunLog
from dibs.model.bounded import bounded
from dibs.model.job import Run as Begun
from dibs.model.job import Terms, belongs_to
from dibs.model.steps import step_of
from dibs.model.tenure import Tenure
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from dibs.model.record import Source

LONGEST_NOTE = 200
DETACHED = "a call of your own"


class Run:
    """One attempt at a tick: `run.tick`, `run.attempt`, `run.fence`, `run.progress(0.4, "…")`, `run.log`."""

    def __init__(self, mine: Underway, *, zone: tzinfo = UTC, logger: str = "dibs", lines: Lines | None = None) -> None:
        self._mine, self._zone, self._logger = mine, zone, logger
        self.lines = lines or Lines()
        """What it has logged."""

    @classmethod
    def detached(cls, job: str, *, zone: tzinfo = UTC, logger: str = "dibs") -> Run:
        """For a body that is called by hand: of no tick, with no lease and no fence."""
        now = boottime()
        begun = Begun(time.time(), source="trigger")
        mine = Underway(job, begun, Terms(), Tenure(inf, now), begun_at=now, policy=DETACHED)
        return cls(mine, zone=zone, logger=logger)

    @property
    def job(self) -> str:
        """The job's name: that of the function."""
        return belongs_to(self._mine.done_by)

    @property
    def schedule(self) -> str:
        """The name of the schedule that it is run by; the job's, unless it was added while the fleet was running."""
        return belongs_to(self._mine.job)

    @property
    def step(self) -> str | None:
        """Which step of the job it does, by the id that it was submitted with; `None` if it is none."""
        return step_of(self._mine.job)

    @property
    def source(self) -> Source:
        """Why it is run: its tick came ("schedule", "outage"), or somebody asked ("trigger", "backfill", "step")."""
        return self._mine.run.source

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """What it is called with, beside itself; of a call by hand, nothing."""
        told: dict[str, Any] = json.loads(self._mine.arguments or "{}")
        return MappingProxyType(told)

    @property
    def tick(self) -> datetime:
        """For which moment it is run, in the schedule's time zone; when it is called by hand, for now."""
        return datetime.fromtimestamp(self._mine.run.tick, self._zone)

    @property
    def attempt(self) -> int:
        """Which try this is, from 1 on: of a run that failed or whose node died before."""
        return self._mine.run.attempt

    @property
    def fence(self) -> int:
        """The number to send along with every write: higher than that of every attempt before.

        `NoFence` if it is run without the store, as `on_outage` says, or was called by hand.
        """
        mine = self._mine
        if mine.policy:
            by = mine.policy if mine.policy == DETACHED else f"on_outage={mine.policy!r}"
            raise NoFence(self.schedule, by=by, what="run")
        return mine.run.fence

    @property
    def policy(self) -> Literal["open", "local"] | None:
        """By which `on_outage` it is run, if the store is silent; `None` if the store knows of it."""
        match self._mine.policy:
            case "open":
                return "open"
            case "local":
                return "local"
            case _:
                return None

    @cached_property
    def log(self) -> RunLog:
        """A logger of the job's module. Its lines are kept in the job's history, from INFO on."""
        facts = {"job": self.job, "schedule": self.schedule, "tick": self.tick.isoformat(), "attempt": self.attempt}
        return RunLog(logging.getLogger(self._logger), facts, self.lines)

    def progress(self, share: float, note: str = "") -> None:
        """Say how far it is, from 0 to 1, and at what. It is told to the store with the next sign of life."""
        self._mine.note = bounded(str(note), LONGEST_NOTE)
        self._mine.progress = _checked_share(share)

    @property
    def lost(self) -> bool:
        """Whether it cannot be relied on any more: another node may be at the same tick. Once true it stays true."""
        return not self._mine.is_relied_on(boottime())

    @property
    def cancelled(self) -> bool:
        """Whether it is to stop: it lasts too long, its successor wants its place, its node ends, or it is lost."""
        return bool(self._mine.asked_to_stop) or self.lost

    def ensure(self) -> None:
        """Raise `LeaseLost` if it is lost, `RunStopped` if it is to stop. Cheap: it asks our own clock, no store."""
        mine = self._mine
        if self.lost:
            why = mine.forsaken or (NOT_RENEWED if mine.is_lost(boottime()) else TIMEOUT)
            raise LeaseLost(self.schedule, fence=mine.run.fence, reason=why)
        if mine.asked_to_stop:
            raise RunStopped(self.schedule, reason=mine.asked_to_stop)

    def __repr__(self) -> str:
        state = "lost" if self.lost else "to stop" if self.cancelled else "at work"
        return f"<Run of {self.schedule!r} for {self.tick.isoformat()} attempt={self.attempt} {state}>"


def _checked_share(share: object) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ConfigError(f"progress({share!r}): say a share from 0 to 1, as in progress(0.4, 'invoices')")
    return float(share)
