"""What `with` and `async with` take: a lock that is waited for, and one that is not."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from dibs.errors import ConfigError, DibsError, LeaseLost, LockBusy
from dibs.flows import locking
from dibs.flows.hold import Hold
from dibs.flows.locking import Denied
from dibs.lease import Lease
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from dibs.model.request import Request
    from dibs.runtime.aio import Body
    from dibs.runtime.engine import Engine

LeaseT_co = TypeVar("LeaseT_co", bound=Lease | None, covariant=True)

DOING = "take a lock"


class _Entry(NamedTuple):
    """One block that was entered: by whom, with which lease, and how to stop it."""

    actor: object
    lease: Lease | None
    body: Body | None = None


class _Guard(Generic[LeaseT_co]):
    """What both have in common. It keeps no state but which blocks are open, so it may be shared and used again."""

    def __init__(self, engine: Engine, request: Request, on_lost: Callable[[LeaseLost], object] | None = None) -> None:
        self._engine, self._request = engine, request
        self._watchers = () if on_lost is None else (on_lost,)
        self._entries: list[_Entry] = []

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._request.name

    def acquire(self) -> LeaseT_co:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        return self._granted(self._take(None))

    async def aacquire(self) -> LeaseT_co:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        world = self._engine.aio(DOING)
        return self._granted(await locking.acquire(world, self._engine.desk, self._request, watchers=self._watchers))

    def __enter__(self) -> LeaseT_co:
        actor = threading.get_ident()
        lease = self._granted(self._take(actor))
        self._entries.append(_Entry(actor, lease))
        return lease

    async def __aenter__(self) -> LeaseT_co:
        from asyncio import current_task  # noqa: PLC0415 - see Engine.aio

        from dibs.runtime.aio import Body  # noqa: PLC0415

        actor, body, world = current_task(), Body(), self._engine.aio(DOING)
        watchers = (body.stop, *self._watchers)
        taken = await locking.acquire(world, self._engine.desk, self._request, actor=actor, watchers=watchers)
        lease = self._granted(taken)
        self._entries.append(_Entry(actor, lease, body))
        return lease

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lease = self._left(threading.get_ident()).lease
        trouble: DibsError | None = None
        if lease is not None:
            try:
                lease.release()
            except DibsError as raised:
                trouble = raised
        _settle(error, trouble)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from asyncio import current_task  # noqa: PLC0415 - see Engine.aio

        _, lease, body = self._left(current_task())
        stopped = None if body is None else body.leave(error)
        trouble: DibsError | None = stopped
        if lease is not None:
            try:
                await lease.arelease()
            except DibsError as raised:
                trouble = raised
        _settle(None if stopped else error, trouble)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} ttl={self._request.ttl:g}s open={len(self._entries)}>"

    def _take(self, actor: object) -> Hold | Denied:
        world, desk = self._engine.blocking(DOING), self._engine.desk
        return run(locking.acquire(world, desk, self._request, actor=actor, watchers=self._watchers))

    def _granted(self, taken: Hold | Denied) -> LeaseT_co:
        raise NotImplementedError

    def _left(self, actor: object) -> _Entry:
        """The block that is being left: the innermost of this task or thread, or else the only one that is open.

        A block may end in another task or thread than it began in (a fixture, a dependency of a web framework).
        """
        entries = list(self._entries)
        mine = [entry for entry in entries if entry.actor == actor] or entries
        if not mine or (mine is entries and len(entries) > 1):
            raise ConfigError(
                f"cannot tell which of {len(entries)} open blocks of {self.name!r} is left here: give each block "
                "that ends elsewhere than it began a lock object of its own, or use acquire() and release()"
            )
        self._entries.remove(mine[-1])
        return mine[-1]


class Lock(_Guard[Lease]):
    """A lock that is waited for: `with d.lock(...) as lease`, or `async with`."""

    def _granted(self, taken: Hold | Denied) -> Lease:
        if isinstance(taken, Denied):
            raise LockBusy(self.name, waited=taken.waited, held=taken.held, waiters=taken.waiters)
        return Lease(self._engine, taken)


class TryLock(_Guard[Lease | None]):
    """A lock that is not waited for: the block is entered with `None` if somebody else has it."""

    def _granted(self, taken: Hold | Denied) -> Lease | None:
        return None if isinstance(taken, Denied) else Lease(self._engine, taken)


def _settle(error: BaseException | None, trouble: DibsError | None) -> None:
    """The body's own exception wins; a lost lease or a failed release is a note on it."""
    if trouble is None:
        return
    if error is None:
        raise trouble
    if not isinstance(error, LeaseLost):
        error.add_note(f"And leaving the lock: {trouble}")
