"""What is done about a lock while its store is silent, as `on_outage` says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dibs.errors import StoreUnreachable
from dibs.events import PolicyOver, PolicyUsed
from dibs.flows.loose import LooseHold
from dibs.model.policy import ASK_EVERY
from dibs.model.request import Request

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.hold import Hold
    from dibs.model.policy import OnOutageOfJob
    from dibs.ports.world import World

T = TypeVar("T")

Take: TypeAlias = Callable[[Sequence[Request]], Awaitable[T]]
"""A way to take these locks, all or none."""


@dataclass(slots=True)
class Outage:
    """An outage as one client has met it. Threads share it: should two ask again at once, no harm is done."""

    trouble: StoreUnreachable | None = None
    since: float = 0.0
    uses: int = 0
    _ask_at: float = 0.0

    def standing(self, now: float) -> StoreUnreachable | None:
        """The trouble, while it is too early to ask again; `None` for one who is to ask, for all the others."""
        if self.trouble is not None and now < self._ask_at:
            return self.trouble
        self._ask_at = now + ASK_EVERY
        return None

    def begin(self, trouble: StoreUnreachable, now: float) -> None:
        """The store is silent, for the first time or still."""
        if self.trouble is None:
            self.since, self.uses = now - trouble.after, 0
        self.trouble, self._ask_at = trouble, now + ASK_EVERY

    def end(self, desk: Desk, now: float) -> None:
        """The store has answered; if it had been done without, that is told."""
        if self.trouble is not None:
            self.trouble = None
            desk.tell(PolicyOver(desk.server, now - self.since, self.uses))


class Policy:
    """Locks under one policy: how they are taken, and how else. Skipping is its caller's business: it hears of it."""

    def __init__(self, world: World, desk: Desk, outage: Outage, on_outage: OnOutageOfJob) -> None:
        self._world, self._desk, self._outage = world, desk, outage
        self._on_outage: OnOutageOfJob = on_outage

    async def acquire(self, requests: Sequence[Request], *, take: Take[T], instead: Take[T]) -> T:
        """Take the locks; and if nobody knows who has them, do as we were told, in what is left of the time."""
        began_at = self._world.now()
        trouble = self._outage.standing(began_at)
        if trouble is None:
            try:
                taken = await take(requests)
            except StoreUnreachable as error:
                trouble = self._borne(error)
            else:
                self._outage.end(self._desk, self._world.now())
                return taken
        self._outage.uses += 1
        for request in requests:
            self._desk.count(request.name, "policy_uses")
            self._desk.tell(PolicyUsed(request.name, self._on_outage, trouble.why))
        if self._on_outage == "skip":
            raise trouble
        gone = self._world.now() - began_at
        return await instead([_in_what_is_left(request, gone) for request in requests])

    def _borne(self, error: StoreUnreachable) -> StoreUnreachable:
        """What can be done without, to the end. A store that says no is none of these, but its job may be skipped."""
        if error.is_outage:
            self._outage.begin(error, self._world.now())
        elif self._on_outage != "skip":
            raise error
        return error


def without_a_lock(request: Request, now: float) -> Hold:
    """What one has in hand under `open`."""
    hold = LooseHold(request, fence=0, now=now)
    hold.policy, hold.unfenced_by = "open", "on_outage='open'"
    return hold


def of_this_machine(hold: Hold) -> Hold:
    """What one has in hand under `local`: its fence counts here, and nowhere else."""
    hold.policy, hold.unfenced_by = "local", "on_outage='local'"
    return hold


def _in_what_is_left(request: Request, gone: float) -> Request:
    return replace(request, wait=max(request.wait - gone, 0.0)) if request.wait else request
