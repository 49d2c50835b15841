"""The relatives of the lock: reentrant, read-write, and with several permits. The same lock, with more room in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from dibs.errors import ConfigError
from dibs.flows import locking
from dibs.flows.hold import Hold
from dibs.flows.locking import Denied
from dibs.lease import Bearer, Lease
from dibs.lock import DOING, Guard, Lock, busy
from dibs.model.asks import CROWD
from dibs.model.value import value
from dibs.options import LockOptions, request
from dibs.runtime import inside
from dibs.runtime.blocking import run
from dibs.together import LockAll

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from dibs.config import Config
    from dibs.errors import LeaseLost
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Watchers
    from dibs.model.request import Request
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

MOST_PERMITS = 10_000


class LockFamily:
    """What a client has beside the plain lock."""

    _engine: Engine
    config: Config

    def rlock(self, name: str, *, within: Lease | None = None, **options: Unpack[LockOptions]) -> RLock:
        """A lock that its own task or thread may take again; or whoever has a lease on it, by `within=lease`."""
        wish = replace(request(name, options, ttl=self.config.ttl), is_counted=True)
        return RLock(self._engine, wish, options.get("on_lost"), within=within)

    def rwlock(self, name: str, **options: Unpack[LockOptions]) -> RWLock:
        """Many may read at once, or one write: `with d.rwlock("config").read()`. A writer who waits is not passed."""
        wish = replace(request(name, options, ttl=self.config.ttl), is_counted=True)
        return RWLock(self._engine, wish, options.get("on_lost"))

    def semaphore(self, name: str, permits: int, **options: Unpack[LockOptions]) -> Lock:
        """A lock that so many may hold at once: `with d.semaphore("gpu", 4)`."""
        if type(permits) is not int or not 1 <= permits <= MOST_PERMITS:
            raise ConfigError(f"permits={permits!r}: from 1 to {MOST_PERMITS}")
        wish = replace(request(name, options, ttl=self.config.ttl), is_counted=True, room=permits)
        return Lock(self._engine, wish, options.get("on_lost"))

    def lock_all(self, *names: str, **options: Unpack[LockOptions]) -> LockAll:
        """Several locks, all or none: `with d.lock_all("acct:1", "acct:2") as leases`. Never deadlocks."""
        if not names:
            raise ConfigError("lock_all() needs at least one name")
        wishes = [request(name, options, ttl=self.config.ttl) for name in names]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigError(f"lock_all() was given {twice[0]!r} twice: name each lock once")
        self._engine.refuse_where_many_vote("lock_all")
        return LockAll(self._engine, wishes, options.get("on_lost"))


@value
class Reentry:
    """A lock that we hold already, entered once more."""

    hold: Hold
    entry: int


class RLock(Guard[Lease, "Hold | Denied | Reentry"]):
    """A lock that may be taken again by whoever holds it: `with d.rlock(...) as lease`, or `async with`.

    Each lease is given back by itself, and the lock with the last of them; all have the same fence.
    """

    def __init__(
        self,
        engine: Engine,
        request: Request,
        on_lost: Callable[[LeaseLost], object] | None = None,
        *,
        within: Lease | None = None,
    ) -> None:
        super().__init__(engine, request, on_lost)
        if within is not None:
            within.reentrant_hold(request.name)  # what is wrong with it is told here
        self._within = within

    def acquire(self) -> Lease:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        me, world = inside.actor(), self._engine.blocking(DOING)
        bearer, taking = self._taking(world, me, self._watchers)
        return self._noted(me, bearer, run(taking))

    async def aacquire(self) -> Lease:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        me, world = inside.actor(), self._engine.aio(DOING)
        bearer, taking = self._taking(world, me, self._watchers)
        return self._noted(me, bearer, await taking)

    def _noted(self, me: object, bearer: Bearer, taken: Hold | Denied | Reentry) -> Lease:
        """So that whoever takes it without a block may take it again, too."""
        lease = self._granted(bearer, taken)
        for hold in self._holds(taken):
            inside.enter(self._engine.desk, hold, me)
        return lease

    def _taking(
        self, world: World, me: object, watchers: Watchers
    ) -> tuple[Bearer, Coroutine[Any, Any, Hold | Denied | Reentry]]:
        wish, by = self._request, self._within
        here = inside.holds_here(self._engine.desk, wish.name, me) if by is None else [by.reentrant_hold(wish.name)]
        for hold in here:
            bearer = hold.lives_by()
            if isinstance(bearer, Bearer) and hold.admits(wish, world.now()):
                return bearer, _reentered(*self._engine.detours.home(hold, world), hold, watchers)
        return self._anew(world, here, watchers)

    def _granted(self, bearer: Bearer, taken: Hold | Denied | Reentry) -> Lease:
        if isinstance(taken, Denied):
            raise busy(self.name, taken)
        if isinstance(taken, Reentry):
            return Lease(self._engine, taken.hold, bearer, taken.entry)
        return Lease(self._engine, taken, bearer)

    def _holds(self, taken: Hold | Denied | Reentry) -> Sequence[Hold]:
        return (taken,) if isinstance(taken, Hold) else ()


async def _reentered(world: World, desk: Desk, hold: Hold, watchers: Watchers) -> Reentry:
    return Reentry(hold, await locking.reenter(world, desk, hold, watchers=watchers))


class RWLock:
    """A lock that many may hold to read, or one alone to write.

    Whoever reads may read again, whoever writes may do both. Who reads and wants to write must let go first: two
    who both waited for the other's end would wait for ever.
    """

    def __init__(self, engine: Engine, request: Request, on_lost: Callable[[LeaseLost], object] | None = None) -> None:
        self._engine, self._request, self._on_lost = engine, request, on_lost

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._request.name

    def read(self) -> RLock:
        """To read, along with others."""
        return RLock(self._engine, replace(self._request, room=CROWD), self._on_lost)

    def write(self) -> RLock:
        """To write, alone."""
        return RLock(self._engine, self._request, self._on_lost)

    def __repr__(self) -> str:
        return f"<RWLock {self.name!r} ttl={self._request.ttl:g}s>"
