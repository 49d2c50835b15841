"""How one who does not stand in the queue tries again all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import LockBusy, StoreUnreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.ports.world import World


async def insist(
    world: World, enter: Callable[[], Awaitable[object]], *, retries: int, delay: float
) -> int | LockBusy | StoreUnreachable:
    """Enter, and while somebody else is there try so many times again; gives at which try it was, or why it was not."""
    attempt = 1
    while True:
        try:
            await enter()
        except StoreUnreachable as silence:  # it was given its time already
            return silence
        except LockBusy as busy:
            if attempt > retries:
                return busy
        else:
            return attempt
        await world.pause(delay)
        attempt += 1
