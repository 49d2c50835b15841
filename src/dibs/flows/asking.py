"""How something is asked that either gets an answer or was not done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dibs.errors import StoreRefused, StoreUnreachable
from dibs.model.backoff import backoff

if TYPE_CHECKING:
    from dibs.ports.store import Command
    from dibs.ports.world import World

T = TypeVar("T")


async def ask(world: World, command: Command[T], within: float, *, since: float | None = None) -> T:
    """Ask; and ask again while the store only says that it did not do it, and there is time.

    Who has just looked at the clock says so by `since`.
    """
    asked_at = world.now() if since is None else since
    try:
        return await world.ask(command, within)
    except StoreUnreachable as error:
        no = error
    return await _ask_again(world, command, no, asked_at=asked_at, give_up_at=asked_at + within)


async def _ask_again(
    world: World, command: Command[T], error: StoreUnreachable, *, asked_at: float, give_up_at: float
) -> T:
    no: StoreUnreachable | None = None  # a last ask that there is no time to answer makes it no outage
    tries = 0
    while True:
        no = no if error.is_outage else error
        pause = backoff(tries, world.token())
        if not isinstance(error, StoreRefused) or world.now() + pause >= give_up_at:
            raise (no or error).lasting(world.now() - asked_at) from error
        await world.pause(pause)
        tries += 1
        try:
            return await world.ask(command, max(give_up_at - world.now(), 0.0))
        except StoreUnreachable as silence:
            error = silence
