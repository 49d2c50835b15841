"""How a node sees to the steps of the whole fleet: each kind of chore under its lock, one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from dibs.flows.sheets import readable
from dibs.model.chores import LOCKS, Chore, chore
from dibs.model.names import STEP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.flows.duty import Crew
    from dibs.flows.sheets import Reading

SeeTo = Callable[[Chore], Coroutine[Any, Any, bool]]
"""Does one batch of such chores; whether there was anything to do."""


def chores_due(reading: Reading) -> Sequence[Chore]:
    """Which kinds there are to do, in their order."""
    steps = readable([sheet for sheet in reading.look.sheets if STEP in sheet.name])
    due = {chore(job, reading.look.now) for job in steps}
    return [kind for kind in LOCKS if kind in due]


async def do_chores(crew: Crew, kinds: Sequence[Chore], see_to: SeeTo) -> bool:
    """Do these, but for what somebody else is at; whether anything was done."""
    did = False
    for kind in kinds:
        did = await crew.under(LOCKS[kind], _batch(see_to, kind)) or did
    return did


def _batch(see_to: SeeTo, kind: Chore) -> Callable[[], Coroutine[Any, Any, bool]]:
    def batch() -> Coroutine[Any, Any, bool]:
        return see_to(kind)

    return batch
