"""Several locks at once: all of them, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.flows import together
from dibs.flows.together import Hindered
from dibs.lease import Bearer, Lease, Releasing
from dibs.lock import Guard, busy
from dibs.runtime import inside
from dibs.runtime.blocking import run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from dibs.errors import LeaseLost
    from dibs.flows.hold import Hold, Watchers
    from dibs.model.request import Request
    from dibs.ports.world import World
    from dibs.runtime.engine import Engine


DOING = "release leases"


class Leases:
    """What was granted together: a lease for each name, given back together."""

    def __init__(self, engine: Engine, holds: Sequence[Hold], bearer: Bearer) -> None:
        home = engine.detours.local if holds[0].policy == "local" else engine
        self._engine, self._desk, self._holds = home, home.desk, holds
        self._by_name = {hold.name: Lease(engine, hold, bearer) for hold in holds}

    def __getitem__(self, name: str) -> Lease:
        return self._by_name[name]

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def remaining(self) -> float:
        """For how many seconds all of them can be trusted if nothing renews them."""
        return min(lease.remaining for lease in self)

    @property
    def lost(self) -> bool:
        """Whether one of them cannot be relied on any more."""
        return any(lease.lost for lease in self)

    def ensure(self) -> None:
        """Raise `LeaseLost` unless all of them are still ours."""
        for lease in self:
            lease.ensure()

    def release(self) -> None:
        """Give all of them back; `LeaseLost` if one was not ours any more. Again is harmless."""
        if (loss := run(self._releasing(self._engine.blocking))) is not None:
            raise loss

    async def arelease(self) -> None:
        """Give all of them back; `LeaseLost` if one was not ours any more. Again is harmless."""
        if (loss := await self.areleasing()) is not None:
            raise loss

    def areleasing(self) -> Releasing:
        """The same, to be awaited; gives the first loss."""
        return self._releasing(self._engine.aio)

    def _releasing(self, world: Callable[[str], World]) -> Releasing:
        if self._holds[0].is_loose or not self._engine.serves(self._desk):
            return self._let_go()
        return together.release_all(world(DOING), self._desk, self._holds)

    async def _let_go(self) -> LeaseLost | None:
        """Where the store is not to be asked: it never was, or the client is closed, or this is a forked child."""
        losses = [hold.loss() for hold in self._holds if hold.end()]
        return next((loss for loss in losses if loss is not None), None)

    def __repr__(self) -> str:
        return f"<Leases {', '.join(map(repr, self))}>"


class LockAll(Guard[Leases, "Sequence[Hold] | Hindered"]):
    """Locks that are taken together: `with d.lock_all("a", "b") as leases`, or `async with`."""

    def __init__(
        self, engine: Engine, requests: Sequence[Request], on_lost: Callable[[LeaseLost], object] | None = None
    ) -> None:
        super().__init__(engine, requests[0], on_lost)
        self._requests = sorted(requests, key=lambda request: request.name)

    @property
    def name(self) -> str:
        """The names of the locks."""
        return ", ".join(request.name for request in self._requests)

    def _taking(
        self, world: World, me: object, watchers: Watchers
    ) -> tuple[Bearer, Coroutine[Any, Any, Sequence[Hold] | Hindered]]:
        bearer, desk = Bearer(), self._engine.desk
        here = [hold for request in self._requests for hold in inside.holds_here(desk, request.name, me)]
        wishes = [(request, bearer) for request in self._requests]
        if self._detour is not None:
            wanted = self._requests
            return bearer, self._detour.taking_all(world, wanted, inside=here, watchers=watchers, bearer=bearer)
        return bearer, together.acquire_all(world, desk, wishes, inside=here, watchers=watchers)

    def _granted(self, bearer: Bearer, taken: Sequence[Hold] | Hindered) -> Leases:
        if isinstance(taken, Hindered):
            raise busy(taken.name, taken.denied)
        return Leases(self._engine, taken, bearer)

    def _holds(self, taken: Sequence[Hold] | Hindered) -> Sequence[Hold]:
        return () if isinstance(taken, Hindered) else taken
