"""What `with` and `async with` take: a lock that is waited for, and one that is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from dibs.errors import ConfigError, DibsError, LeaseLost, LockBusy
from dibs.flows import locking
from dibs.flows.hold import Hold
from dibs.flows.locking import Circumstances, Denied, Watchers
from dibs.lease import Bearer, Lease
from dibs.model.value import value
from dibs.runtime import inside
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from dibs.model.request import Request
    from dibs.runtime.aio import Body
    from dibs.runtime.engine import Engine

LeaseT_co = TypeVar("LeaseT_co", bound=Lease | None, covariant=True)

DOING = "take a lock"


@value
class _Entry:
    """One block that was entered: by whom, with what, and how to stop it."""

    actor: object
    lease: Lease | None
    body: Body | None = None


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
        return self._granted(*self._take(inside.actor()))

    async def aacquire(self) -> LeaseT_co:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        return self._granted(*await self._atake(inside.actor(), self._watchers))

    def __enter__(self) -> LeaseT_co:
        me = inside.actor()
        bearer, taken = self._take(me)
        lease = self._granted(bearer, taken)
        self._entered(me, lease, taken)
        return lease

    async def __aenter__(self) -> LeaseT_co:
        from dibs.runtime.aio import Body  # noqa: PLC0415 - see Engine.aio

        body = Body()
        me = body.task or inside.actor()
        bearer, taken = await self._atake(me, (body.stop, *self._watchers))
        lease = self._granted(bearer, taken)
        self._entered(me, lease, taken, body)
        return lease

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        trouble: DibsError | None = None
        try:
            if (lease := self._left().lease) is not None:
                lease.release()
        except DibsError as raised:
            trouble = raised
        finally:
            inside.leave()
        _settle(error, trouble)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stopped: LeaseLost | None = None
        trouble: DibsError | None = None
        try:
            entry = self._left()
            stopped = None if entry.body is None else entry.body.leave(error)
            if entry.lease is not None:
                await entry.lease.arelease()
        except DibsError as raised:
            trouble = raised
        finally:
            inside.leave()
        _settle(None if stopped else error, trouble or stopped)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} ttl={self._request.ttl:g}s open={len(self._entries)}>"

    def _take(self, me: object) -> tuple[Bearer, Hold | Denied]:
        bearer, world, desk = Bearer(), self._engine.blocking(DOING), self._engine.desk
        by = Circumstances(inside.hold_here(desk, self._request.name, me), self._watchers, bearer)
        return bearer, run(locking.acquire(world, desk, self._request, by))

    async def _atake(self, me: object, watchers: Watchers) -> tuple[Bearer, Hold | Denied]:
        bearer, world, desk = Bearer(), self._engine.aio(DOING), self._engine.desk
        by = Circumstances(inside.hold_here(desk, self._request.name, me), watchers, bearer)
        return bearer, await locking.acquire(world, desk, self._request, by)

    def _granted(self, bearer: Bearer, taken: Hold | Denied) -> LeaseT_co:
        raise NotImplementedError

    def _entered(self, me: object, lease: Lease | None, taken: Hold | Denied, body: Body | None = None) -> None:
        self._entries.append(_Entry(me, lease, body))
        if isinstance(taken, Hold):
            inside.enter(self._engine.desk, taken, me)

    def _left(self) -> _Entry:
        """The block that is being left: the only one that is open, or else the innermost of this task or thread.

        A block may end in another task or thread than it began in (a fixture, a dependency of a web framework).
        """
        entries = list(self._entries)
        if len(entries) != 1:
            me = inside.actor()
            mine = [entry for entry in entries if entry.actor == me]
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


def _settle(error: BaseException | None, trouble: DibsError | None) -> None:
    """The body's own exception wins; a lost lease or a failed release is a note on it."""
    if trouble is None:
        return
    if error is None:
        raise trouble
    if not (isinstance(error, LeaseLost) and isinstance(trouble, LeaseLost) and error.fence == trouble.fence):
        error.add_note(f"And leaving the lock: {trouble}")
