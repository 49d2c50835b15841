"""How something is asked that either gets an answer or was not done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.backoff import backoff

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.ports.world import World

T = TypeVar("T")


async def ask(world: World, command: Command[T], within: float) -> T:
    """Ask; and ask again while the store only says that it did not do it, and there is time."""
    asked_at, tries = world.now(), 0
    give_up_at = asked_at + within
    no: StoreUnreachable | None = None  # a last ask that there is no time to answer makes it no outage
    while True:
        try:
            return await world.ask(command, within)
        except StoreUnreachable as error:
            no = no if error.is_outage else error
            pause = backoff(tries, world.token())
            if not isinstance(error, StoreRefused) or world.now() + pause >= give_up_at:
                raise (no or error).lasting(world.now() - asked_at) from error
        await world.pause(pause)
        within, tries = max(give_up_at - world.now(), 0.0), tries + 1
