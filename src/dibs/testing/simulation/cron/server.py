"""A store of jobs that can lose what it was told last, and whoever watches what it is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol

from dibs.testing.simulation.network import Server

if TYPE_CHECKING:
    from dibs.model.sheet import Change, Entry, Sheet
    from dibs.stores.memory.sheets import History, Sheets
    from dibs.testing.simulation.agenda import Agenda

SPACE = ""
"""The one namespace of these worlds."""
REMEMBERED = 2.0
"""So many seconds of the past are kept, to go back to."""


class Clerk(Protocol):
    """Who watches the sheets: the referee."""

    def saw_change(self, before: Sheet | None, after: Sheet | None, entries: Sequence[Entry]) -> None:
        """A change was made."""
        ...


@dataclass(frozen=True, slots=True)
class _Past:
    at: float
    kept: dict[str, Sheet]
    acts_at: dict[str, float]
    histories: dict[str, History]
    last_fence: int


class CronServer(Server):
    """Goes back to where it was, if it was to restart without its last second."""

    def __init__(self, agenda: Agenda, *, rate: float = 1.0) -> None:
        super().__init__(agenda, rate=rate)
        self.clerk: Clerk | None = None
        self._pasts: deque[_Past] = deque()
        self._lives = 0
        self.begin_life()

    @property
    def jobs(self) -> Sheets:
        """All sheets."""
        return self.sheets[SPACE]

    def begin_life(self) -> None:
        """It was started anew."""
        self._lives += 1
        self.jobs.life = f"life {self._lives}"

    def forget_since(self, moment: float) -> None:
        """Go back to what was known then; -inf: know nothing any more."""
        jobs = self.jobs
        if moment == -inf:
            jobs.kept, jobs.acts_at, jobs.histories, self.last_fence = {}, {}, {}, 0
            self._pasts.clear()
        while self._pasts and self._pasts[-1].at >= moment:
            past = self._pasts.pop()
            jobs.kept, jobs.acts_at, jobs.histories = dict(past.kept), dict(past.acts_at), dict(past.histories)
            self.last_fence = past.last_fence

    def _amended(self, sheets: Sheets, change: Change, now: float) -> int:
        at, before = self.agenda.now, sheets.kept.get(change.name)
        past = _Past(at, dict(sheets.kept), dict(sheets.acts_at), dict(sheets.histories), self.last_fence)
        revision = super()._amended(sheets, change, now)
        if revision:
            self._pasts.append(past)
            while self._pasts[0].at < at - REMEMBERED:
                self._pasts.popleft()
            if self.clerk is not None:
                self.clerk.saw_change(before, sheets.kept.get(change.name), change.entries)
        return revision
