"""What `with` and `async with` take: a lock that is waited for, and one that is not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dibs.errors import ConfigError, DibsError, LeaseLost, LockBusy
from dibs.flows import locking
from dibs.flows.hold import Hold, Watchers
from dibs.flows.locking import Denied
from dibs.lease import Bearer, Lease
from dibs.runtime import inside
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from types import TracebackType

    from dibs.model.request import Request
    from dibs.ports.world import World
    from dibs.runtime.aio import Body
    from dibs.runtime.engine import Engine
    from dibs.together import Leases

LeaseT = TypeVar("LeaseT", bound="Lease | Leases | None")
"""What a block is entered with."""
TakenT = TypeVar("TakenT")
"""What came of the attempt to take it."""

DOING = "take a lock"


class Guard(ABC, Generic[LeaseT, TakenT]):
    """What all have in common. It remembers which of its blocks are open, so it may be shared and used again."""

    def __init__(self, engine: Engine, request: Request, on_lost: Callable[[LeaseLost], object] | None = None) -> None:
        self._engine, self._request = engine, request
        said = request.on_outage
        self._detour = engine.detours.usual if said is None else engine.detours.by(said)
        self._watchers = () if on_lost is None else (engine.aside(on_lost),)
        self._entries: list[tuple[object, LeaseT, Body | None]] = []
        """Each block that was entered: by whom, with what, and how to stop it."""

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._request.name

    def acquire(self) -> LeaseT:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        world = self._engine.blocking(DOING)
        bearer, taking = self._taking(world, inside.actor(), self._watchers)
        return self._granted(bearer, run(taking))

    async def aacquire(self) -> LeaseT:
        """Take the lock without a block: the lease is yours to pass on and to release."""
        world = self._engine.aio(DOING)
        bearer, taking = self._taking(world, inside.actor(), self._watchers)
        return self._granted(bearer, await taking)

    def __enter__(self) -> LeaseT:
        world, me = self._engine.blocking(DOING), inside.actor()
        bearer, taking = self._taking(world, me, self._watchers)
        taken = run(taking)
        lease = self._granted(bearer, taken)
        self._entered(me, lease, taken, None)
        return lease

    async def __aenter__(self) -> LeaseT:
        world = self._engine.aio(DOING)
        body = world.body()
        me = body.task or inside.actor()
        bearer, taking = self._taking(world, me, (body.stop, *self._watchers) if self._watchers else (body.stop,))
        try:
            taken = await taking
            lease = self._granted(bearer, taken)
        except BaseException as error:
            if (loss := body.leave(error)) is not None:  # lost on the way in
                raise loss from None
            raise
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
                trouble = await lease.areleasing() or trouble
        except DibsError as raised:
            trouble = raised
        finally:
            inside.leave()
        if trouble is not None:
            _settle(error, trouble)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} ttl={self._request.ttl:g}s open={len(self._entries)}>"

    @abstractmethod
    def _taking(self, world: World, me: object, watchers: Watchers) -> tuple[Bearer, Coroutine[Any, Any, TakenT]]:
        """How it is taken, and who will stand for it."""

    @abstractmethod
    def _granted(self, bearer: Bearer, taken: TakenT) -> LeaseT:
        """What to enter the block with."""

    @abstractmethod
    def _holds(self, taken: TakenT) -> Sequence[Hold]:
        """What this block stands in."""

    def _anew(
        self, world: World, here: Sequence[Hold], watchers: Watchers
    ) -> tuple[Bearer, Coroutine[Any, Any, Hold | Denied]]:
        """How one lock is taken of which nothing is held by this block yet; `here` is how it is held around it."""
        bearer = Bearer()
        if self._detour is not None:
            taking = self._detour.taking(world, self._request, inside=here, watchers=watchers, bearer=bearer)
            return bearer, taking
        desk = self._engine.desk
        return bearer, locking.acquire(world, desk, self._request, inside=here, watchers=watchers, bearer=bearer)

    def _entered(self, me: object, lease: LeaseT, taken: TakenT, body: Body | None) -> None:
        self._entries.append((me, lease, body))
        for hold in self._holds(taken):
            inside.enter(self._engine.desk, hold, me)

    def _left(self) -> tuple[object, LeaseT, Body | None]:
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


class _Single(Guard[LeaseT, "Hold | Denied"]):
    """One lock, taken anew by each block."""

    def _taking(
        self, world: World, me: object, watchers: Watchers
    ) -> tuple[Bearer, Coroutine[Any, Any, Hold | Denied]]:
        return self._anew(world, inside.holds_here(self._engine.desk, self._request.name, me), watchers)

    def _holds(self, taken: Hold | Denied) -> Sequence[Hold]:
        return () if isinstance(taken, Denied) else (taken,)


class Lock(_Single[Lease]):
    """A lock that is waited for: `with d.lock(...) as lease`, or `async with`."""

    def _granted(self, bearer: Bearer, taken: Hold | Denied) -> Lease:
        if isinstance(taken, Denied):
            raise busy(self.name, taken)
        return Lease(self._engine, taken, bearer)


class TryLock(_Single["Lease | None"]):
    """A lock that is not waited for: the block is entered with `None` if somebody else has it."""

    def _granted(self, bearer: Bearer, taken: Hold | Denied) -> Lease | None:
        return None if isinstance(taken, Denied) else Lease(self._engine, taken, bearer)


def busy(name: str, denied: Denied) -> LockBusy:
    """The error that says who has it."""
    return LockBusy(name, waited=denied.waited, held=denied.held, waiters=denied.waiters)


def _settle(error: BaseException | None, trouble: DibsError) -> None:
    """The body's own exception wins; a lost lease or a failed release is a note on it."""
    if error is None:
        raise trouble
    if not (isinstance(error, LeaseLost) and isinstance(trouble, LeaseLost) and error.fence == trouble.fence):
        error.add_note(f"And leaving the lock: {trouble}")
