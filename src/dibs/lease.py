"""A lock that is ours: its fence, how long it can be trusted, and the way to give it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import LeaseLost
from dibs.flows import locking
from dibs.model.tenure import Verdict
from dibs.runtime.blocking import run
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from dibs.flows.hold import Hold
    from dibs.runtime.engine import Engine

RELEASED = "it was released by this program"


class Bearer:
    """Stands for a lease from before it is asked for: once it is dropped, whenever that is, the lock is given back."""

    __slots__ = ("__weakref__",)


class Lease:
    """A granted lock. It belongs to whoever has the object: any thread or task may use it, and release it."""

    def __init__(self, engine: Engine, hold: Hold, bearer: Bearer) -> None:
        self._engine, self._desk, self._hold, self._bearer = engine, engine.desk, hold, bearer

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._hold.name

    @property
    def fence(self) -> int:
        """The number to send along with every write: higher than that of every holder before."""
        return self._hold.fence

    @property
    def ttl(self) -> float:
        """How long the store keeps the lock without a renewal, in seconds."""
        return self._hold.request.ttl

    @property
    def waited(self) -> float:
        """How long it took to get, in seconds."""
        return self._hold.waited

    @property
    def remaining(self) -> float:
        """For how many seconds it can be trusted if nothing renews it; 0 when it is over."""
        now = boottime()
        if self._hold.check(now) is Verdict.LOST:
            return 0.0
        return self._hold.tenure.trusted_until - now

    @property
    def lost(self) -> bool:
        """Whether we had it and cannot rely on it any more. Once true it stays true."""
        self._hold.check(boottime())
        return self._hold.lost_because is not None

    def ensure(self) -> None:
        """Raise `LeaseLost` unless the lease is still ours. Cheap: it asks our own clock, not the store."""
        if self._hold.check(boottime()) is Verdict.LOST:
            raise self._hold.loss() or LeaseLost(self.name, fence=self.fence, reason=RELEASED)

    def extend(self) -> None:
        """Ask for a whole TTL from now, up to `max_hold`; `LeaseLost` if it is too late."""
        self.ensure()
        if loss := run(locking.prolong(self._engine.blocking("extend a lease"), self._desk, self._hold)):
            raise loss

    async def aextend(self) -> None:
        """Ask for a whole TTL from now, up to `max_hold`; `LeaseLost` if it is too late."""
        self.ensure()
        if loss := await locking.prolong(self._engine.aio("extend a lease"), self._desk, self._hold):
            raise loss

    def release(self) -> None:
        """Give the lock back; `LeaseLost` if it was not ours any more. Again is harmless."""
        engine, desk, hold = self._engine, self._desk, self._hold
        serves = engine.serves(desk)
        loss = run(locking.release(engine.blocking("release a lease"), desk, hold)) if serves else self._let_go()
        if loss is not None:
            raise loss

    async def arelease(self) -> None:
        """Give the lock back; `LeaseLost` if it was not ours any more. Again is harmless."""
        engine, desk, hold = self._engine, self._desk, self._hold
        serves = engine.serves(desk)
        loss = await locking.release(engine.aio("release a lease"), desk, hold) if serves else self._let_go()
        if loss is not None:
            raise loss

    def __repr__(self) -> str:
        hold = self._hold
        verdict = hold.check(boottime())
        state = hold.lost_because or ("released" if hold.is_over else verdict.value)
        return f"<Lease {self.name!r} fence={self.fence} {state}>"

    def _let_go(self) -> LeaseLost | None:
        """Where the store must not be asked any more: the client is closed, or this is a forked child."""
        return self._hold.loss() if self._hold.end() else None
