"""Who held what, as people look at it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dibs.model.duration import spoken

if TYPE_CHECKING:
    from dibs.model.holding import Ended, Holding, Kind


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


def hold_view(of: Holding) -> HoldView:
    """What is known of a hold, as it is shown."""
    since, seen_at = datetime.fromtimestamp(of.since, UTC), datetime.fromtimestamp(of.until, UTC)
    until = seen_at if of.is_over else None
    fence = of.fence or None
    return HoldView(of.name, of.who, of.purpose, fence, since, until, seen_at, of.ended, of.reason, of.times, of.kind)


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
