"""When a worker that has died is started again, and when somebody should be told that it does not come up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dibs.model.duration import spoken
from dibs.model.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTLED_AFTER = 1.0
"""Who dies sooner than that after it was ready has died at once, and is not started again at once."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
TRIES = 5
"""After so many starts in a row that came to nothing, people are told; and if nobody ever came up, it ends."""


@value
class Patience:
    """How long a worker may take to be ready, and be silent afterwards, before it is killed."""

    silent_after: float = 10.0
    start_within: float = 60.0

    def overstep(self, *, started_at: float, ready_at: float | None, heard_at: float, now: float) -> str:
        """What a worker is to be killed for; empty if for nothing. While it imports its program it has no beat yet."""
        if ready_at is None:
            return f"not ready after {spoken(now - started_at)}" if now - started_at >= self.start_within else ""
        return f"silent for {spoken(now - heard_at)}" if now - heard_at >= self.silent_after else ""


@value
class Life:
    """One process of a worker, which has ended. Times are monotonic seconds."""

    ready_at: float | None
    ended_at: float

    @property
    def was_brief(self) -> bool:
        """Whether it ended at once: before it was ready, or right after."""
        return self.ready_at is None or self.ended_at - self.ready_at < SETTLED_AFTER


@value
class Past:
    """What the processes of a worker have come to so far, the newest ones above all."""

    was_ever_up: bool = False
    failed_starts: int = 0
    """In a row, without one that was ready."""
    brief_lives: int = 0
    """In a row, with or without."""

    def risen(self) -> Past:
        """The same, now that a process is ready."""
        return replace(self, was_ever_up=True, failed_starts=0)

    def after(self, life: Life) -> Past:
        """The same, with one life more."""
        failed_starts = self.failed_starts + 1 if life.ready_at is None else 0
        return replace(self, failed_starts=failed_starts, brief_lives=self.brief_lives + 1 if life.was_brief else 0)

    @property
    def pause(self) -> float:
        """How long to wait before the next start: not at all, or twice as long with each brief life."""
        if not self.brief_lives:
            return 0.0
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.brief_lives - 1, 16))

    @property
    def is_to_be_told(self) -> bool:
        """Whether it is time to say, or say again, that it does not come up."""
        return self.failed_starts > 0 and self.failed_starts % TRIES == 0


def is_hopeless(pasts: Sequence[Past]) -> bool:
    """Whether no worker has ever been up, and each was tried often enough."""
    return all(not past.was_ever_up and past.failed_starts >= TRIES for past in pasts)


def slept(expected: float, passed: float) -> bool:
    """Whether the one who watches has been stopped itself: then it has no right to call others silent."""
    return passed > expected + 1.0
