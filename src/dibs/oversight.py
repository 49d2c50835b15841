"""How people look at locks, and take one from its holder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import ChangedHands, ConfigError
from dibs.flows import overseeing
from dibs.model.asks import Said
from dibs.options import checked_name, checked_text
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.asks import EvictAnswer
    from dibs.model.views import LockView
    from dibs.runtime.engine import Engine

MOST_LISTED = 1_000


class Oversight:
    """What a client shows of all the locks of its namespace."""

    _engine: Engine

    def inspect(self, name: str) -> LockView:
        """Who holds the lock, since when, what for, and who waits; also if it is free."""
        world = self._engine.blocking("inspect a lock")
        return run(overseeing.inspect(world, self._engine.desk, checked_name(name)))

    async def ainspect(self, name: str) -> LockView:
        """Who holds the lock, since when, what for, and who waits; also if it is free."""
        world = self._engine.aio("inspect a lock")
        return await overseeing.inspect(world, self._engine.desk, checked_name(name))

    def locks(self, prefix: str = "", *, limit: int = MOST_LISTED) -> Sequence[LockView]:
        """The locks of this namespace that are held or waited for, by name."""
        world = self._engine.blocking("list locks")
        return run(overseeing.held(world, self._engine.desk, prefix=prefix, limit=_checked_limit(limit)))

    async def alocks(self, prefix: str = "", *, limit: int = MOST_LISTED) -> Sequence[LockView]:
        """The locks of this namespace that are held or waited for, by name."""
        world = self._engine.aio("list locks")
        return await overseeing.held(world, self._engine.desk, prefix=prefix, limit=_checked_limit(limit))

    def force_release(self, name: str, *, fence: int, reason: str = "") -> bool:
        """Take the lock from the holder seen with this fence; false if it is free, `ChangedHands` if another has it."""
        world = self._engine.blocking("release a lock by force")
        fence, reason = checked_fence(fence), checked_text("reason", reason)
        flow = overseeing.evict(world, self._engine.desk, checked_name(name), fence=fence, reason=reason)
        return _evicted(run(flow), name, fence)

    async def aforce_release(self, name: str, *, fence: int, reason: str = "") -> bool:
        """Take the lock from the holder seen with this fence; false if it is free, `ChangedHands` if another has it."""
        world = self._engine.aio("release a lock by force")
        fence, reason = checked_fence(fence), checked_text("reason", reason)
        flow = overseeing.evict(world, self._engine.desk, checked_name(name), fence=fence, reason=reason)
        return _evicted(await flow, name, fence)


def _evicted(answer: EvictAnswer, name: str, fence: int) -> bool:
    if answer is Said.CHANGED:
        raise ChangedHands(name, fence=fence)
    if answer is Said.NO_LOCK:
        raise ConfigError(f"what is stored under {name!r} is no lock of any program, but data: it is not deleted here")
    return answer is Said.EVICTED


def checked_fence(fence: object) -> int:
    """The fence, if a holder may have it."""
    if isinstance(fence, bool) or not isinstance(fence, int) or fence < 0:
        raise ConfigError(f"fence={fence!r}: name the fence that you saw, as inspect() shows it")
    return fence


def _checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ConfigError(f"limit={limit!r}: at least one")
    return limit
