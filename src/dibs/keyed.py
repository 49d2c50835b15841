"""Locks that are taken and given back by their key alone, as one line at the beginning of a job and one at its end."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Unpack

from dibs.errors import LeaseLost
from dibs.events import ReleasedNothing
from dibs.flows import overseeing
from dibs.model.duration import Duration
from dibs.options import checked_name
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.lease import Lease
    from dibs.lock import TryLock
    from dibs.options import TryOptions
    from dibs.runtime.engine import Engine

FEW = 64
"""So many leases are remembered without looking which of them are over."""

NOT_OURS = "this client does not hold it (it never took it, or gave it back before)"
OVER = "its lease was over already"


class Remembered:
    """The leases that were taken by key at one desk. Those that are over are forgotten before they are many."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk  # which is found again by its id, and so must not be collected before this is
        self._leases: dict[str, Lease] = {}
        self._look_at = FEW
        self._changing = RLock()  # a signal's handler may want to release what this very thread is about to remember

    def keep(self, lease: Lease) -> None:
        """Remember a lease until it is released by its key or over: it stays, though its taker drops it."""
        with self._changing:
            if len(self._leases) >= self._look_at:
                for key, kept in list(self._leases.items()):
                    if not kept.remaining:
                        self._leases.pop(key, None)
                self._look_at = max(2 * len(self._leases), FEW)
            self._leases[lease.name] = lease

    def take(self, key: str) -> Lease | None:
        """The lease under that key, which is forgotten with this: one caller gets it, to release it."""
        with self._changing:
            return self._leases.pop(key, None)


class Keyed:
    """What a client does by key."""

    _engine: Engine
    _remembered: dict[int, Remembered]
    """By desk: a forked child has a desk of its own, and so begins without any lease of its parent's."""

    if TYPE_CHECKING:

        def try_lock(self, name: str, **options: Unpack[TryOptions]) -> TryLock: ...

    def acquire_lock(self, key: str, ttl: Duration) -> Lease | None:
        """Take the lock for so long, if nobody has it. It is not renewed, and stays until `release_lock(key)`."""
        return self._kept(self.try_lock(key, ttl=ttl, renew=False).acquire())

    async def aacquire_lock(self, key: str, ttl: Duration) -> Lease | None:
        """Take the lock for so long, if nobody has it. It is not renewed, and stays until `release_lock(key)`."""
        return self._kept(await self.try_lock(key, ttl=ttl, renew=False).aacquire())

    def release_lock(self, key: str) -> bool:
        """Give back what `acquire_lock` took. False, and nothing is done, if this client does not have it any more."""
        lease = self._book().take(checked_name(key))
        if lease is None:
            return self._released_nothing(key, NOT_OURS)
        was_ours = lease.remaining > 0
        try:
            lease.release()
        except LeaseLost:
            was_ours = False
        return was_ours or self._released_nothing(key, OVER)

    async def arelease_lock(self, key: str) -> bool:
        """Give back what `acquire_lock` took. False, and nothing is done, if this client does not have it any more."""
        lease = self._book().take(checked_name(key))
        if lease is None:
            return self._released_nothing(key, NOT_OURS)
        was_ours = lease.remaining > 0
        try:
            await lease.arelease()
        except LeaseLost:
            was_ours = False
        return was_ours or self._released_nothing(key, OVER)

    def is_locked(self, key: str) -> bool:
        """Whether anybody has the lock."""
        world = self._engine.blocking("look at a lock")
        return run(overseeing.inspect(world, self._engine.desk, checked_name(key))).held is not None

    async def ais_locked(self, key: str) -> bool:
        """Whether anybody has the lock."""
        world = self._engine.aio("look at a lock")
        return (await overseeing.inspect(world, self._engine.desk, checked_name(key))).held is not None

    def _book(self) -> Remembered:
        desk = self._engine.desk
        found = self._remembered.get(id(desk))
        return found or self._remembered.setdefault(id(desk), Remembered(desk))

    def _kept(self, lease: Lease | None) -> Lease | None:
        if lease is not None:
            self._book().keep(lease)
        return lease

    def _released_nothing(self, key: str, why: str) -> bool:
        self._engine.tell(ReleasedNothing(key, why))
        return False
