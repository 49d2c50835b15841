"""A schedule to which things happen, and the people who do them."""

from __future__ import annotations

from typing import Any

from dibs.model.control import Word
from dibs.model.job import Gone, Job, Run, Terms
from dibs.model.rota import Step, advanced

NOW = 1_800_000_000.0
GONE = Gone("removed", NOW - 60)


def word(at: float = NOW, reason: str = "") -> Word:
    return Word("ann", at, reason)


def job(*runs: Run, rule: str = "every 60s", next_due: float | None = NOW + 60, **more: Any) -> Job:
    return Job("report", 7, 1, rule, more.pop("terms", Terms()), next_due, runs, **more)


def running(tick: float = NOW - 60, *, owner: str = "bob", until: float = NOW + 30, **more: Any) -> Run:
    return Run(tick, owner=owner, node=f"{owner}'s", fence=5, started_at=tick, expires_at=until, **more)


def at(job: Job, now: float = NOW, owner: str = "me") -> Step:
    return advanced(job, now=now, owner=owner, node="here")


def told(step: Step | None) -> list[tuple[float, str, bool]]:
    """What is noted by a step of each tick: what became of it, and whether that is the end of it."""
    assert step is not None
    return [(record.tick, record.outcome, record.is_last) for record in step.records]
