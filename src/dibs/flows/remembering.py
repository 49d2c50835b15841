"""How one who comes to work finds out that it is done already: before it takes the lock, and again when it has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from dibs.errors import StoreUnreachable
from dibs.flows.asking import ask
from dibs.model.asks import Recalled
from dibs.model.value import value

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.ports.world import World

Done = TypeVar("Done")
"""What to know of work that was done."""
Instead = TypeVar("Instead")
"""What a call gives that is not let in."""
Instead_co = TypeVar("Instead_co", covariant=True)


@value
class Place:
    """Where to look for what was done, and how long to wait for the answer."""

    world: World
    desk: Desk
    within: float

    async def look(self, name: str) -> Sight:
        """What is remembered here of the work under this lock."""
        asked_at = self.world.now()
        return Sight(await ask(self.world, self.desk.store.recall(name), self.within), asked_at, self.desk)


@value
class Sight:
    """What was seen, at which desk, and when we asked by our own clock."""

    seen: Recalled
    asked_at: float
    desk: Desk


@value
class Claim:
    """The work is ours to do. The last that was seen of it; nothing, if no store could be asked."""

    sight: Sight | None

    def moments(self, now: float) -> tuple[float, float]:
        """By the store's clock: when it was claimed, and what that clock says by now, or a little more.

        Time passes by our own clock, which nobody sets. Without a store there is no time to speak of.
        """
        if self.sight is None:
            return 0.0, 0.0
        return self.sight.seen.at, self.sight.seen.at + now - self.sight.asked_at


Settled: TypeAlias = Callable[[Recalled, Recalled | None], Done | None]
"""The work as it was done, if what is remembered makes ours needless; told also what was so when we came, if known."""


class Door(Protocol[Instead_co]):
    """The way of one call into its lock, and out again."""

    name: str

    def outside(self) -> Place | None:
        """Where to look before we go in; `None` if nobody is to be asked."""
        ...

    def bears(self, silence: StoreUnreachable) -> bool:
        """Whether we may go in without having looked."""
        ...

    async def enter(self) -> Instead_co | None:
        """Go in; gives what to do instead, if we may not."""
        ...

    def inside(self) -> Place | None:
        """Where to look once we are in; `None` if nothing is remembered of what is done in here."""
        ...

    async def leave(self, error: BaseException | None) -> None:
        """Go out again."""
        ...


async def arrive(door: Door[Instead], settled: Settled[Done]) -> Claim | Done | Instead:
    """Go in to work, unless it is done. Whoever had the lock while we waited may have done it: so we look twice."""
    before = await _glance(door)
    if before is not None and (done := settled(before.seen, None)) is not None:
        return done
    instead = await door.enter()
    if instead is not None:
        return instead
    try:
        place = door.inside()
        sight = None if place is None else await place.look(door.name)
    except BaseException as error:
        await door.leave(error)
        raise
    if sight is None:
        return Claim(before)
    came_to_see = None if before is None or before.desk is not sight.desk else before.seen
    done = settled(sight.seen, came_to_see)
    if done is None:
        return Claim(sight)
    await door.leave(None)
    return done


async def _glance(door: Door[object]) -> Sight | None:
    place = door.outside()
    if place is None:
        return None
    try:
        return await place.look(door.name)
    except StoreUnreachable as silence:
        if not door.bears(silence):
            raise
        return None
