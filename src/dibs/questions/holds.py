"""Who held what: what a client recalls of the locks of its namespace, whoever took them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from dibs.errors import ConfigError
from dibs.flows import recalling
from dibs.model.duration import spoken
from dibs.options import checked_name
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.holding import Ended, Holding, Kind
    from dibs.runtime.engine import Engine

DOING = "recall who held what"
MOST_RECALLED = 10_000
LATEST = 32_503_680_000.0
"""The year 3000."""

Moment: TypeAlias = datetime | float | str
"""A datetime with a time zone, epoch seconds, or text such as `"2026-03-01T02:13:00+01:00"`."""


@dataclass(frozen=True, slots=True)
class HoldView:
    """Who had a lock, or the run of a job, from when to when, and how it ended. Times are the store's, in UTC."""

    name: str
    who: str
    purpose: str
    fence: int | None
    """`None` where many holds are told together, and for a holder that has none."""
    since: datetime
    until: datetime | None
    """`None` while it is held, and if it is not known."""
    seen_at: datetime
    """When it was last known to be held."""
    ended: Ended
    """released, lost, broken (by force), handed on, held (still), or unknown: its holder was not heard of again."""
    reason: str
    """Why it was lost; of a run, what came of it."""
    times: int
    """More than 1: it was held so often between these two moments, too often to note each."""
    kind: Kind = "lock"
    """A lock, or the run of the job of that name."""

    def __str__(self) -> str:
        return f"{self.name}: {self.who} {self._words()}"

    def _words(self) -> str:
        since, seen_at = _shown(self.since), _shown(self.seen_at)
        lasted = spoken((self.seen_at - self.since).total_seconds())
        if self.kind == "run":
            if self.ended == "held":
                return f"has been at {self.purpose} since {since} ({lasted})"
            return f"did {self.purpose} from {since} to {seen_at} ({lasted}): {self.reason}"
        if self.times > 1:
            return f"held it {self.times} times between {since} and {seen_at}"
        if self.ended == "held":
            return f"has held it since {since} ({lasted})"
        if self.ended == "unknown":
            return f"held it from {since}, was last seen holding it at {seen_at}, and was not heard of again"
        how = {"released": "released it", "handed on": "handed it on", "broken": "had it taken away by force"}
        return f"held it from {since} to {seen_at} ({lasted}) and {how.get(self.ended, f'lost it: {self.reason}')}"


class Recall:
    """What a client tells of who held its locks."""

    _engine: Engine

    def held_at(self, moment: Moment, name: str | None = None) -> Sequence[HoldView]:
        """Who held this lock, or anything at all, at a moment, runs of jobs included; by name.

        This client is asked up to now, others tell the store every ten seconds or so. Noted are the last 30 days.
        """
        at, only = _moment("moment", moment), _checked(name)
        world = self._engine.blocking(DOING)
        return _views(run(recalling.held_at(world, self._engine.desk, at, name=only)))

    async def aheld_at(self, moment: Moment, name: str | None = None) -> Sequence[HoldView]:
        """Who held this lock, or anything at all, at a moment, runs of jobs included; by name.

        This client is asked up to now, others tell the store every ten seconds or so. Noted are the last 30 days.
        """
        at, only = _moment("moment", moment), _checked(name)
        world = self._engine.aio(DOING)
        return _views(await recalling.held_at(world, self._engine.desk, at, name=only))

    def lock_history(
        self, name: str, *, limit: int = 100, since: Moment | None = None, until: Moment | None = None
    ) -> Sequence[HoldView]:
        """Who held this lock between two moments, the latest first."""
        begin, end = _span(since, until)
        world, limit = self._engine.blocking(DOING), _checked_limit(limit)
        flow = recalling.holds_of(world, self._engine.desk, checked_name(name), since=begin, until=end, limit=limit)
        return _views(run(flow))

    async def alock_history(
        self, name: str, *, limit: int = 100, since: Moment | None = None, until: Moment | None = None
    ) -> Sequence[HoldView]:
        """Who held this lock between two moments, the latest first."""
        begin, end = _span(since, until)
        world, limit = self._engine.aio(DOING), _checked_limit(limit)
        flow = recalling.holds_of(world, self._engine.desk, checked_name(name), since=begin, until=end, limit=limit)
        return _views(await flow)


def _views(holdings: Sequence[Holding]) -> Sequence[HoldView]:
    return [_view(each) for each in holdings]


def _view(of: Holding) -> HoldView:
    since, seen_at = datetime.fromtimestamp(of.since, UTC), datetime.fromtimestamp(of.until, UTC)
    until = seen_at if of.is_over else None
    fence = of.fence or None
    return HoldView(of.name, of.who, of.purpose, fence, since, until, seen_at, of.ended, of.reason, of.times, of.kind)


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _checked(name: str | None) -> str | None:
    return None if name is None else checked_name(name)


def _span(since: Moment | None, until: Moment | None) -> tuple[float, float]:
    begin = -inf if since is None else _moment("since", since)
    end = inf if until is None else _moment("until", until)
    if begin > end:
        raise ConfigError(f"since={since!r} is after until={until!r}: name the earlier moment first")
    return begin, end


def _moment(what: str, given: object) -> float:
    moment = given
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise ConfigError(f"{what}={given!r}: write it as '2026-03-01T02:13:00+01:00'") from error
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise ConfigError(f"{what}={given!r}: say in which time zone (tzinfo=UTC, or '+01:00' in text)")
        moment = moment.timestamp()
    if isinstance(moment, bool) or not isinstance(moment, int | float) or not 0 <= moment < LATEST:
        raise ConfigError(
            f"{what}={given!r}: give a datetime with a time zone, text of one, or epoch seconds, from 1970 on"
        )
    return float(moment)


def _checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_RECALLED:
        raise ConfigError(f"limit={limit!r}: from 1 to {MOST_RECALLED}")
    return limit
