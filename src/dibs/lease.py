"""A lock that is ours: its fence, how long it can be trusted, and the way to give it back."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dibs.errors import ConfigError, LeaseLost, NoFence
from dibs.flows import locking
from dibs.model.tenure import LOST
from dibs.runtime.blocking import run
from dibs.runtime.clock import boottime

if TYPE_CHECKING:
    from dibs.flows.hold import Hold
    from dibs.model.asks import Memo
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine

Releasing: TypeAlias = Coroutine[Any, Any, LeaseLost | None]

RELEASED = "it was released by this program"
HANDED_ON = "it was handed on"


class Bearer:
    """Stands for a lease from before it is asked for: once it is dropped, whenever that is, the lock is given back."""

    __slots__ = ("__weakref__",)


class Lease:
    """A granted lock. It belongs to whoever has the object: any thread or task may use it, and release it."""

    _ended = RELEASED

    def __init__(self, engine: Engine, hold: Hold, bearer: Bearer, entry: int = 0) -> None:
        if hold.policy == "local":
            engine = engine.detours.local
        self._engine, self._desk, self._hold, self._bearer, self._entry = engine, engine.desk, hold, bearer, entry

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._hold.name

    @property
    def fence(self) -> int:
        """The number to send along with every write: higher than that of every holder before.

        `NoFence` if the lease was taken without the store, as `on_outage` says.
        """
        hold = self._hold
        if hold.unfenced_by is not None:
            raise NoFence(hold.name, by=hold.unfenced_by)
        return hold.fence

    @property
    def policy(self) -> Literal["open", "local"] | None:
        """By which `on_outage` it was taken, if the store was silent; `None` if it came from the store."""
        return self._hold.policy

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
        if self._hold.check(now) is LOST:
            return 0.0
        return self._hold.tenure.trusted_until - now

    @property
    def lost(self) -> bool:
        """Whether we had it and cannot rely on it any more. Once true it stays true."""
        self._hold.check(boottime())
        return self._hold.lost_because is not None

    def ensure(self) -> None:
        """Raise `LeaseLost` unless the lease is still ours. Cheap: it asks our own clock, not the store."""
        if self._hold.check(boottime()) is LOST:
            raise self._over()

    def extend(self) -> None:
        """Ask for a whole TTL from now, up to `max_hold`; `LeaseLost` if it is too late."""
        self.ensure()
        if self._hold.is_loose:
            return
        if loss := run(locking.prolong(self._engine.blocking("extend a lease"), self._desk, self._hold)):
            raise loss

    async def aextend(self) -> None:
        """Ask for a whole TTL from now, up to `max_hold`; `LeaseLost` if it is too late."""
        self.ensure()
        if self._hold.is_loose:
            return
        if loss := await locking.prolong(self._engine.aio("extend a lease"), self._desk, self._hold):
            raise loss

    def release(self) -> None:
        """Give the lock back; `LeaseLost` if it was not ours any more. Again is harmless."""
        if (loss := run(self._releasing(self._engine.blocking))) is not None:
            raise loss

    async def arelease(self) -> None:
        """Give the lock back; `LeaseLost` if it was not ours any more. Again is harmless."""
        if (loss := await self.areleasing()) is not None:
            raise loss

    def areleasing(self) -> Releasing:
        """The same, to be awaited; gives the loss."""
        return self._releasing(self._engine.aio)

    def to_token(self) -> str:
        """Hand the lease on, as text for one other process: there `d.adopt(token)` goes on with it.

        Here it is over: nobody renews or releases it any more, so it must be adopted within what `remaining` said.
        """
        from dibs.token import handed_on  # noqa: PLC0415 - needed by few

        self._refuse_to_hand_on()
        token = handed_on(self._engine.namespace, self._desk, self._hold)
        if token is None:
            raise self._over()
        self._ended = HANDED_ON
        return token

    def leave_behind(self, memo: Memo) -> None:
        """Have the store remember this from the moment that the lock is given back, if it is still ours then."""
        self._hold.memo = memo

    def reentrant_hold(self, name: str) -> Hold:
        """What to enter again by; `ConfigError` if that lock cannot be, by this lease."""
        if self.name != name or not self._hold.request.is_counted:
            raise ConfigError(f"within={self!r}: give a lease that d.rlock({name!r}) or d.rwlock({name!r}) gave you")
        self.ensure()
        return self._hold

    def __repr__(self) -> str:
        hold = self._hold
        verdict = hold.check(boottime())
        over = "handed on" if self._ended is HANDED_ON else "released"
        state = hold.lost_because or (over if hold.is_over else verdict.value)
        fence = f"fence={hold.fence}" if hold.unfenced_by is None else f"without a fence by {hold.unfenced_by}"
        return f"<Lease {self.name!r} {fence} {state}>"

    def _over(self) -> LeaseLost:
        return self._hold.loss() or LeaseLost(self.name, fence=self._hold.fence, reason=self._ended)

    def _refuse_to_hand_on(self) -> None:
        """Whoever adopted it would ask the store for it, which does not know it."""
        hold = self._hold
        if hold.is_loose or hold.policy is not None:
            raise ConfigError(
                f"the lease on {hold.name!r} cannot be handed on: it does not come from {self._desk.server}; take it "
                "anew where the work goes on"
            )

    def _releasing(self, world: Callable[[str], World]) -> Releasing:
        if self._engine.serves(self._desk) and not self._hold.is_loose:
            return locking.release(world("release a lease"), self._desk, self._hold, entry=self._entry)
        return self._let_go()

    async def _let_go(self) -> LeaseLost | None:
        """Where the store is not to be asked: it never was, or the client is closed, or this is a forked child."""
        return self._hold.loss() if self._hold.end() else None
