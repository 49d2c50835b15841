"""What `with` and `async with` take: a lock that is waited for, and one that is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from dibs.errors import ConfigError, DibsError, LeaseLost, LockBusy
from dibs.flows import locking
from dibs.flows.hold import Hold, Watchers
from dibs.flows.locking import Denied
from dibs.lease import Bearer, Lease
from dibs.runtime import inside
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType

    from dibs.model.request import Request
    from dibs.ports.world import World
    from dibs.runtime.aio import Body
    from dibs.runtime.engine import Engine

    Taking: TypeAlias = Coroutine[Any, Any, Hold | Denied]

LeaseT_co = TypeVar("LeaseT_co", bound=Lease | None, covariant=True)

DOING = "take a lock"


_Entry: TypeAlias = "tuple[object, Lease | None, Body | None]"
"""One block that was entered: by whom, with what, and how to stop it."""


class _Guard(Generic[LeaseT_co]):
    """What both have in common. It remembers which of its blocks are open, so it may be shared and used again."""

    def __init__(self, engine: Engine, request: Request, on_lost: Callable[[LeaseLost], object] | None = None) -> None:
        self._engine, self._request = engine, request
        self._watchers = () if on_lost is None else (engine.aside(on_lost),)
        self._entries: list[_Entry] = []

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._request.name

    def acquire(self) -> LeaseT_co:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        world = self._engine.blocking(DOING)
        bearer, taking = self._taking(world, inside.actor(), self._watchers)
        return self._granted(bearer, run(taking))

    async def aacquire(self) -> LeaseT_co:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        world = self._engine.aio(DOING)
        bearer, taking = self._taking(world, inside.actor(), self._watchers)
        return self._granted(bearer, await taking)

    def __enter__(self) -> LeaseT_co:
        world, me = self._engine.blocking(DOING), inside.actor()
        bearer, taking = self._taking(world, me, self._watchers)
        taken = run(taking)
        lease = self._granted(bearer, taken)
        self._entered(me, lease, taken, None)
        return lease

    async def __aenter__(self) -> LeaseT_co:
        world = self._engine.aio(DOING)
        body = world.body()
        me = body.task or inside.actor()
        bearer, taking = self._taking(world, me, (body.stop, *self._watchers))
        taken = await taking
        lease = self._granted(bearer, taken)
        self._entered(me, lease, taken, body)
        return lease

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        trouble: DibsError | None = None
        try:
            _, lease, _ = self._left()
            if lease is not None:
                lease.release()
        except DibsError as raised:
            trouble = raised
        finally:
            inside.leave()
        if trouble is not None:
            _settle(error, trouble)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        trouble: DibsError | None = None
        try:
            _, lease, body = self._left()
            if body is not None and (stopped := body.leave(error)) is not None:
                trouble, error = stopped, None
            if lease is not None:
                await lease.arelease()
        except DibsError as raised:
            trouble = raised
        finally:
            inside.leave()
        if trouble is not None:
            _settle(error, trouble)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} ttl={self._request.ttl:g}s open={len(self._entries)}>"

    def _taking(self, world: World, me: object, watchers: Watchers) -> tuple[Bearer, Taking]:
        bearer, desk = Bearer(), self._engine.desk
        here = inside.hold_here(desk, self._request.name, me)
        return bearer, locking.acquire(world, desk, self._request, inside=here, watchers=watchers, bearer=bearer)

    def _granted(self, bearer: Bearer, taken: Hold | Denied) -> LeaseT_co:
        raise NotImplementedError

    def _entered(self, me: object, lease: Lease | None, taken: Hold | Denied, body: Body | None) -> None:
        self._entries.append((me, lease, body))
        if isinstance(taken, Hold):
            inside.enter(self._engine.desk, taken, me)

    def _left(self) -> _Entry:
        """The block that is being left: the only one that is open, or else the innermost of this task or thread.

        A block may end in another task or thread than it began in (a fixture, a dependency of a web framework).
        """
        entries = list(self._entries)
        if len(entries) != 1:
            me = inside.actor()
            mine = [entry for entry in entries if entry[0] == me]
            if not mine:
                raise ConfigError(
                    f"cannot tell which of {len(entries)} open blocks of {self.name!r} is left here: give each block "
                    "that ends elsewhere than it began a lock object of its own, or use acquire() and release()"
                )
            entries = mine
        self._entries.remove(entries[-1])
        return entries[-1]


class Lock(_Guard[Lease]):
    """A lock that is waited for: `with d.lock(...) as lease`, or `async with`."""

    def _granted(self, bearer: Bearer, taken: Hold | Denied) -> Lease:
        if isinstance(taken, Denied):
            raise LockBusy(self.name, waited=taken.waited, held=taken.held, waiters=taken.waiters)
        return Lease(self._engine, taken, bearer)


class TryLock(_Guard[Lease | None]):
    """A lock that is not waited for: the block is entered with `None` if somebody else has it."""

    def _granted(self, bearer: Bearer, taken: Hold | Denied) -> Lease | None:
        return None if isinstance(taken, Denied) else Lease(self._engine, taken, bearer)


def _settle(error: BaseException | None, trouble: DibsError) -> None:
    """The body's own exception wins; a lost lease or a failed release is a note on it."""
    if error is None:
        raise trouble
    if not (isinstance(error, LeaseLost) and isinstance(trouble, LeaseLost) and error.fence == trouble.fence):
        error.add_note(f"And leaving the lock: {trouble}")
