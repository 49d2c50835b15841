"""The ways to a lease that do not lead through the store alone: by a policy, without locks, or only in the shadow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from dibs.flows import locking, together
from dibs.flows.counting import Tally
from dibs.flows.hold import Hold
from dibs.flows.loose import LooseHold
from dibs.flows.outage import Outage, Policy, of_this_machine, without_a_lock
from dibs.flows.shadowing import Shadow
from dibs.flows.together import Hindered
from dibs.model.fence import next_fence
from dibs.runtime.blocking import BlockingWorld
from dibs.stores import EMBEDDED, open_store

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Watchers
    from dibs.flows.locking import Denied
    from dibs.model.policy import OnOutageOfJob
    from dibs.model.request import Request
    from dibs.ports.wire import Backend
    from dibs.ports.world import World
    from dibs.runtime.aio import AsyncWorld
    from dibs.runtime.engine import Engine

    Way: TypeAlias = BlockingWorld | AsyncWorld

DOING = "take a lock"


class Detour(Protocol):
    """Another way to take a lock, or several, all or none: what to run, or to await, instead of the usual flow."""

    def taking(
        self, world: World, request: Request, *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Coroutine[Any, Any, Hold | Denied]:
        """To take one."""
        ...

    def taking_all(
        self, world: World, requests: Sequence[Request], *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Coroutine[Any, Any, Sequence[Hold] | Hindered]:
        """To take several."""
        ...


class Detours:
    """Which way a client's locks are taken, and what it has met on the way."""

    def __init__(
        self,
        engine: Engine,
        *,
        on_outage: OnOutageOfJob = "closed",
        enabled: bool = True,
        mode: Literal["normal", "shadow"] = "normal",
        local: Callable[[], Backend] = lambda: open_store(EMBEDDED),
    ) -> None:
        self.engine, self._open_local = engine, local
        self.on_outage: OnOutageOfJob = on_outage
        self.outage, self.tally = Outage(), Tally(threading.RLock())
        self._local: Engine | None = None
        self._alone: Engine | None = None
        self._for_all: Detour | None = None
        if not enabled:
            self._for_all = _Disabled()
        elif mode == "shadow":
            self._for_all = _Shadowed(self)
        # A lock cannot be skipped: what may be says so itself.
        self.usual = self.by("closed" if on_outage == "skip" else on_outage)

    @property
    def is_shadow(self) -> bool:
        """Whether locks are only watched."""
        return isinstance(self._for_all, _Shadowed)

    @property
    def is_disabled(self) -> bool:
        """Whether no store is asked for locks."""
        return isinstance(self._for_all, _Disabled)

    def by(self, on_outage: OnOutageOfJob) -> Detour | None:
        """The way to take a lock of which this is said; `None` is the usual one."""
        if self._for_all is not None or on_outage == "closed":
            return self._for_all
        if on_outage == "local" and self.local.backend is self.engine.backend:
            return None
        return _Policed(self, on_outage)

    @property
    def local(self) -> Engine:
        """What runs on this machine's own store. It is made at the first word of it, not in the middle of an outage."""
        if self._local is None:
            self._local = self.engine.beside(self._open_local())
        return self._local

    @property
    def for_jobs(self) -> Engine:
        """What runs jobs: on the store of the locks, or where none is to be asked, in this process alone."""
        if not self.is_disabled:
            return self.engine
        if self._alone is None:
            from dibs.stores.memory import MemoryBackend  # noqa: PLC0415 - needed by few

            self._alone = self.engine.beside(MemoryBackend())
        return self._alone

    def home(self, hold: Hold, world: World) -> tuple[World, Desk]:
        """Where a lease can be spoken of: it knows its way back if it does not come from the client's own store."""
        return _beside(self.local, world) if hold.policy == "local" else (world, self.engine.desk)

    def close(self) -> None:
        """Hang up there, too."""
        for beside in (self._local, self._alone):
            if beside is not None:
                beside.close()


class _Policed:
    """By the store; and while it is silent, as `on_outage` says."""

    def __init__(self, detours: Detours, on_outage: OnOutageOfJob) -> None:
        self._detours = detours
        self._on_outage: OnOutageOfJob = on_outage

    async def taking(
        self, world: World, request: Request, *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Hold | Denied:
        acquire = partial(locking.acquire, inside=_real(inside), watchers=watchers, bearer=bearer)

        async def take(requests: Sequence[Request]) -> Hold | Denied:
            return await acquire(world, self._detours.engine.desk, requests[0])

        async def instead(requests: Sequence[Request]) -> Hold | Denied:
            if self._on_outage == "open":
                return without_a_lock(requests[0], world.now())
            taken = await acquire(*_beside(self._detours.local, world), requests[0])
            return of_this_machine(taken) if isinstance(taken, Hold) else taken

        return await self._policy(world).acquire([request], take=take, instead=instead)

    async def taking_all(
        self, world: World, requests: Sequence[Request], *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Sequence[Hold] | Hindered:
        acquire_all = partial(together.acquire_all, inside=_real(inside), watchers=watchers)

        async def take(requests: Sequence[Request]) -> Sequence[Hold] | Hindered:
            wishes = [(request, bearer) for request in requests]
            return await acquire_all(world, self._detours.engine.desk, wishes)

        async def instead(requests: Sequence[Request]) -> Sequence[Hold] | Hindered:
            if self._on_outage == "open":
                return [without_a_lock(request, world.now()) for request in requests]
            wishes = [(request, bearer) for request in requests]
            taken = await acquire_all(*_beside(self._detours.local, world), wishes)
            return taken if isinstance(taken, Hindered) else [of_this_machine(hold) for hold in taken]

        return await self._policy(world).acquire(requests, take=take, instead=instead)

    def _policy(self, world: World) -> Policy:
        return Policy(world, self._detours.engine.desk, self._detours.outage, self._on_outage)


class _Shadowed:
    """At once, while the store is asked what it would have said."""

    def __init__(self, detours: Detours) -> None:
        self._detours = detours

    async def taking(
        self, world: World, request: Request, *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Hold:
        detours, desk = self._detours, self._detours.engine.desk
        must_have_store = (request.on_outage or detours.on_outage) in {"closed", "skip"}
        shadow = Shadow(world, desk, detours.outage, must_have_store=must_have_store)
        take = partial(locking.acquire, world, desk, bearer=bearer)  # no watchers: a loss stops nobody
        hold = await shadow.acquire(request, take=take, inside=inside)
        detours.tally.note(request.name, shadow.fate)
        return hold

    async def taking_all(
        self, world: World, requests: Sequence[Request], *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Sequence[Hold]:
        holds: list[Hold] = []
        for request in requests:
            here = [hold for hold in inside if hold.name == request.name]
            holds.append(await self.taking(world, request, inside=here, watchers=watchers, bearer=bearer))
        return holds


class _Disabled:
    """At once, without any store. Fences come from this machine's clock, and rise within this process."""

    def __init__(self) -> None:
        self._last, self._next = 0, threading.RLock()

    async def taking(
        self, world: World, request: Request, *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Hold:
        return LooseHold(request, fence=self._fence(), now=world.now())

    async def taking_all(
        self, world: World, requests: Sequence[Request], *, inside: Sequence[Hold], watchers: Watchers, bearer: object
    ) -> Sequence[Hold]:
        return [LooseHold(request, fence=self._fence(), now=world.now()) for request in requests]

    def _fence(self) -> int:
        with self._next:
            self._last = next_fence(last=self._last, now=time.time(), seen=0)
            return self._last


def _real(holds: Sequence[Hold]) -> Sequence[Hold]:
    """Those that keep others waiting; one without a lock keeps nobody."""
    return [hold for hold in holds if not hold.is_loose]


def _beside(engine: Engine, world: World) -> tuple[World, Desk]:
    """That engine's world of the same colour, and its desk."""
    return (engine.blocking(DOING) if isinstance(world, BlockingWorld) else engine.aio(DOING)), engine.desk
