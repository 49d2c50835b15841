"""What there is to do about steps beside beginning them: each kind is done by one node of the fleet at a time.

    retry     an attempt failed or took too long, and its pause is over        timeout   its node does not stop it
    resume    the node that was at it has died, or has given it up             cleanup   it was kept for long enough

Whether such a chore is done is decided by the store, as with everything that is done to a sheet; that one node alone
is at it keeps the others from doing the same work for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dibs.model.job import Job

Chore = Literal["retry", "timeout", "resume", "cleanup"]

LOCKS: Mapping[Chore, str] = {
    "timeout": "timeout-scheduler",
    "resume": "resume-scheduler",
    "retry": "retry-scheduler",
    "cleanup": "cleanup-scheduler",
}
"""The lock of each, in the order in which they are seen to."""
TIDYING: frozenset[Chore] = frozenset({"timeout", "cleanup"})
"""Those after which nothing is begun: whoever has no room can do them, and whoever cannot do the job."""


def chore(job: Job, now: float) -> Chore | None:
    """What is to be done about a step by now; `None` if it is none, or there is nothing but to begin it."""
    if not job.is_step:
        return None
    if job.forget_at is not None and job.forget_at <= now:
        return "cleanup"
    for run in job.running:
        if run.expires_at <= now:
            return "resume"
        if job.overdue_at(run) <= now:
            return "timeout"
    if any(run.attempt > 1 and run.not_before <= now for run in job.waiting):
        return "resume" if job.last is not None and job.last.outcome == "lost" else "retry"
    return None
