"""Steps of a job: how they are submitted and looked at, and what is shown of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dibs.control.errand import Errand, checked_arguments, checked_order, told
from dibs.errors import ConfigError
from dibs.flows import stepping
from dibs.model.steps import State, Submission, state, step_fault, step_of

if TYPE_CHECKING:
    from dibs.control.verbs import Fit
    from dibs.flows.desk import Desk
    from dibs.flows.duty import Duty
    from dibs.model.job import Job
    from dibs.ports.world import World

MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True)
class StepView:
    """A step as it stands. Times are in UTC."""

    job: str
    id: str
    state: State
    """due (it waits to be begun, or begun again), running, or how it ended: ok, failed, timeout, lost or skipped."""
    attempt: int
    """The one that runs or is to come; of a step that is over, its last."""
    node: str
    """Who does it, or did it last; nobody yet, if it was never begun."""
    fence: int | None
    """Of that attempt."""
    submitted_at: datetime
    started_at: datetime | None
    """When that attempt was begun."""
    ended_at: datetime | None
    """When all of it was over."""
    next_at: datetime | None
    """Before when it is not begun, if it is due."""
    result: Any
    """What it returned, as JSON keeps it."""
    error: str | None
    """What its last attempt raised, or else why that did not end well; also while another is to come."""
    arguments: Mapping[str, Any]

    @property
    def is_over(self) -> bool:
        """Whether nothing more is done about it."""
        return self.state not in {"due", "running"}

    @property
    def is_exhausted(self) -> bool:
        """Whether it is over and did not end well: its attempts are used up, or it was left out (`Skipped`)."""
        return self.is_over and self.state != "ok"


def submit(said: Submission, *, by: str, reason: str) -> Errand[StepView]:
    """Have it done once."""
    order = checked_order(f"submit step {said.step!r} of", by, reason)

    async def flow(world: World, desk: Desk) -> StepView:
        return step_view(await stepping.submit(world, desk, said, order=order))

    return Errand("submit a step", flow)


def submission(duty: Duty, step: str, arguments: Mapping[str, Any] | None, *, fit: Fit) -> Submission:
    """What is to be submitted, checked."""
    text = checked_arguments(arguments)
    fit(duty.name, json.loads(text or "{}"))
    return Submission(duty.name, checked_step(step), duty.terms, text)


def find(job: str, step: str) -> Errand[StepView | None]:
    """How it stands."""
    checked_step(step)

    async def flow(world: World, desk: Desk) -> StepView | None:
        found = await stepping.find(world, desk, job, step)
        return None if found is None else step_view(found)

    return Errand("look at a step", flow)


def listed(job: str, *, limit: object, after: str) -> Errand[Sequence[StepView]]:
    """How they stand, by id."""
    most, begin = _checked_limit(limit), after and checked_step(after)

    async def flow(world: World, desk: Desk) -> Sequence[StepView]:
        return [step_view(each) for each in await stepping.listed(world, desk, job, after=begin, limit=most)]

    return Errand("look at steps", flow)


def _checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LISTED:
        raise ConfigError(f"limit={limit!r}: say how many, from 1 to {MOST_LISTED}")
    return limit


def checked_step(step: str) -> str:
    """The id, if a step may have it."""
    if fault := step_fault(step):
        raise ConfigError(f"{step!r} names no step: {fault}")
    return step


def step_view(job: Job) -> StepView:
    """The sheet of a step as it is shown."""
    stands, last = state(job), job.last
    is_over = stands not in {"due", "running"}
    run = next(iter(job.runs), None)
    at = last if run is None or not (run.is_running or last is None) else run
    started_at = 0.0 if at is None else at.started_at
    return StepView(
        job.belongs_to,
        step_of(job.name) or "",
        stands,
        run.attempt if run is not None else 1 if last is None else last.attempt,
        "" if at is None else at.node,
        (at.fence or None) if at is not None else None,
        told(job.defined_at),
        told(started_at) if started_at else None,
        told(job.gone.at) if is_over and job.gone is not None else None,
        told(run.not_before) if run is not None and not run.is_running else None,
        None if last is None or last.result is None else json.loads(last.result),
        None if last is None or last.outcome == "ok" else last.error or last.reason or last.outcome,
        json.loads(job.arguments or "{}"),
    )
