"""How pieces of a job's work are handed to the fleet, each to be done once."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from dibs.control.controlled import Controlled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.control.errand import Errand
    from dibs.control.steps import StepView
    from dibs.flows.duty import Duty


class Stepwise(Controlled):
    """A job of which there are steps: one-off work under an id, kept by the store until it is done."""

    @property
    @abstractmethod
    def duty(self) -> Duty:
        """On which terms it is run."""

    def submit(
        self, step: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", by: str = ""
    ) -> StepView:
        """Have it done once, by one node, with these arguments: `charge.submit("order-17", {"order": 17})`.

        The same id again gives the step that is there, also if it is over; so who was not answered submits once more.
        """
        return self._submit(step, arguments, reason, by).run(self._engine)

    async def asubmit(
        self, step: str, arguments: Mapping[str, Any] | None = None, *, reason: str = "", by: str = ""
    ) -> StepView:
        """Have it done once, by one node, with these arguments: `charge.submit("order-17", {"order": 17})`.

        The same id again gives the step that is there, also if it is over; so who was not answered submits once more.
        """
        return await self._submit(step, arguments, reason, by).arun(self._engine)

    def step(self, step: str) -> StepView | None:
        """How a step stands; `None` if there is none of that id, or it was over for longer than `keep_for`."""
        return self._step(step).run(self._engine)

    async def astep(self, step: str) -> StepView | None:
        """How a step stands; `None` if there is none of that id, or it was over for longer than `keep_for`."""
        return await self._step(step).arun(self._engine)

    def steps(self, limit: int = 100, *, after: str = "") -> Sequence[StepView]:
        """Its steps by id, so many at the most; for more, those `after` the last one's id."""
        return self._steps(limit, after).run(self._engine)

    async def asteps(self, limit: int = 100, *, after: str = "") -> Sequence[StepView]:
        """Its steps by id, so many at the most; for more, those `after` the last one's id."""
        return await self._steps(limit, after).arun(self._engine)

    # The errands, in either colour.

    def _submit(self, step: str, arguments: Mapping[str, Any] | None, reason: str, by: str) -> Errand[StepView]:
        from dibs.control import steps  # noqa: PLC0415 - here and below: needed by few

        return steps.submit(steps.submission(self.duty, step, arguments, fit=self._fit), by=by, reason=reason)

    def _step(self, step: str) -> Errand[StepView | None]:
        from dibs.control import steps  # noqa: PLC0415

        return steps.find(self.name, step)

    def _steps(self, limit: int, after: str) -> Errand[Sequence[StepView]]:
        from dibs.control import steps  # noqa: PLC0415

        return steps.listed(self.name, limit=limit, after=after)
