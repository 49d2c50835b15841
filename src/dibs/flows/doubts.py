"""Claims of which nobody knows whether the store has made them: none of them was begun, and all are given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.flows.sheets import LANDS_WITHIN, rewrite_all
from dibs.model import rota

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dibs.flows.desk import Desk
    from dibs.flows.duty import Underway
    from dibs.model.job import Job
    from dibs.model.rota import Step
    from dibs.ports.world import World


class Doubts:
    """By owner: for which job, and until when they may land."""

    def __init__(self, world: World, desk: Desk) -> None:
        self._world, self._desk = world, desk
        self._claims: dict[str, tuple[str, float]] = {}

    def ask(self, steps: Sequence[Step], now: float) -> Collection[str]:
        """These are about to be claimed; gives their owners."""
        claims = {step.begun.owner: (step.job.name, now + LANDS_WITHIN) for step in steps if step.begun is not None}
        self._claims.update(claims)
        return claims

    def answered(self, owners: Collection[str]) -> None:
        """Of these we know."""
        for owner in owners:
            del self._claims[owner]

    def give_up(self, mine: Underway) -> None:
        """It was claimed, and is not begun."""
        self._claims[mine.owner] = mine.job, 0.0

    async def settle(self) -> None:
        """Give back what was claimed, should it have been."""
        names = dict.fromkeys(name for name, _ in self._claims.values())
        await rewrite_all(self._world, self._desk, list(names), self._given_back)

    def _given_back(self, name: str, job: Job | None, now: float) -> Step | None:
        for owner, (of, lands_by) in list(self._claims.items()):
            if of != name:
                continue
            back = None if job is None else rota.handed_back(job, owner, now=now, has_begun=False)
            if back is not None:
                return back
            if now > lands_by:
                del self._claims[owner]
        return None
