"""The orders of one day: they are submitted, followed to their end, and summed up."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from examples.workflow.orders import FLOW, d, ledger, reserve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs import Job, RunView, StepView

POLL = 0.1
"""How long after it was looked at a step is looked at again."""


class Story:
    """So many orders, whose names begin alike."""

    def __init__(self, batch: str, count: int) -> None:
        self._orders = [f"{batch}-{number}" for number in range(1, count + 1)]
        self._steps: list[StepView] = []
        self._began = datetime.now(UTC)

    def play(self) -> None:
        """Submit the first step of each order, each of which ends by submitting the next; and wait for all of them."""
        for order in self._orders:
            reserve.submit(order, {"order": order})
        self._steps = [step for order in self._orders for step in _followed(order)]

    def summary(self) -> Iterator[str]:
        """What has become of them, in words."""
        exhausted = [step for step in self._steps if step.is_exhausted]
        ends, visits = Counter(map(_ending, self._runs())), Counter(ledger.visits())
        attempts = sum(step.attempt for step in self._steps)
        yield f"Steps: {len(self._steps)}; {len(self._steps) - len(exhausted)} ok, {len(exhausted)} exhausted"
        yield f"Attempts: {attempts}; {ends['failed']} failed, {ends['timeout']} timed out, {ends['resumed']} resumed"
        yield f"Effects: {visits['done']}; {visits['again']} asked for again, {visits['late']} refused as too late"
        for step in exhausted:
            yield f"Exhausted: {step.job} of order {step.id}, {step.state} at attempt {step.attempt}"

    def _runs(self) -> Iterator[RunView]:
        """What became of each attempt."""
        for job in FLOW:
            after: str | None = None
            while True:
                page = d.runs(job, since=self._began, limit=1_000, after=after)
                yield from page
                if (after := page.next) is None:
                    break


def _ending(run: RunView) -> str:
    return "resumed" if run.outcome == "lost" and not run.is_last else run.outcome


def _followed(order: str) -> Iterator[StepView]:
    """The steps of an order, each when it is over. One that is ok has submitted the next before."""
    for job in FLOW:
        if (step := _ended(job, order)) is None:
            return
        yield step


def _ended(job: Job[Any], order: str) -> StepView | None:
    while (step := job.step(order)) is not None and not step.is_over:
        threading.Event().wait(POLL)
    return step
