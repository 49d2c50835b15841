"""How people look at locks, and take one from its holder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.events import Evicted, StoreRisky
from dibs.flows.asking import ask
from dibs.model.asks import EvictAnswer, Said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.flows.desk import Desk
    from dibs.model.views import LockView
    from dibs.ports.world import World


def check_up(world: World, desk: Desk) -> None:
    """Look, in passing, how the store is set up, and tell if that may cost locks."""

    def heard(findings: Sequence[str]) -> None:
        if findings:
            desk.tell(StoreRisky(desk.server, tuple(findings)))

    world.later(desk.store.checkup(), heard)


async def inspect(world: World, desk: Desk, name: str) -> LockView:
    """The lock as it stands, also if it is free."""
    return await ask(world, desk.store.inspect(name), desk.patience)


async def held(world: World, desk: Desk, *, prefix: str, limit: int) -> Sequence[LockView]:
    """The locks that are held or waited for."""
    return await ask(world, desk.store.held(prefix, limit), desk.patience)


async def evict(world: World, desk: Desk, name: str, *, fence: int, reason: str) -> EvictAnswer:
    """Take the lock from the holder that was seen; refused if it has changed hands since."""
    answer = await ask(world, desk.store.evict(name, fence), desk.patience)
    if answer is Said.EVICTED:
        desk.count(name, "broken")
        desk.tell(Evicted(name, fence, reason))
    return answer
