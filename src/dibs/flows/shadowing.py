"""How a lock is only watched: everybody enters at once, and what a lock would have done to them is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from dibs.errors import DibsError, SelfDeadlock, StoreUnreachable
from dibs.events import Released, Stumbled, WouldHaveFailed, WouldHaveSkipped, WouldHaveWaited
from dibs.flows.desk import note_debt
from dibs.flows.hold import Hold
from dibs.flows.loose import LooseHold
from dibs.model.asks import CROWD, Leave
from dibs.model.request import A_MOMENT

if TYPE_CHECKING:
    from dibs.flows.desk import Desk
    from dibs.flows.locking import Denied
    from dibs.flows.outage import Outage
    from dibs.model.asks import Memo
    from dibs.model.request import Request
    from dibs.ports.world import World

    Take: TypeAlias = Callable[[Request], Awaitable[Hold | Denied]]

LONGEST_DELAY = 0.25
"""By how much a run may be delayed so that the true lock is looked at: this includes taking back an ask."""

Fate: TypeAlias = Literal["alone", "waited", "skipped", "failed"]
"""What would have become of a run."""


class Shadow:
    """One lock that is only watched."""

    def __init__(self, world: World, desk: Desk, outage: Outage, *, must_have_store: bool) -> None:
        self._world, self._desk, self._outage = world, desk, outage
        self._must_have_store = must_have_store
        self.fate: Fate = "alone"

    async def acquire(self, request: Request, *, take: Take, inside: Sequence[Hold] = ()) -> Hold:
        """Enter, whatever the store says; if the lock was free it is held meanwhile, so that others see it."""
        began_at = self._world.now()
        if request.room in {1, CROWD} and inside and inside[0].admits(request, began_at):
            return self._again(request, inside[0])
        truly: Hold | Denied | None = None
        try:
            truly = await self._tried(request, take)
        except StoreUnreachable as trouble:
            self._outage.begin(trouble, self._world.now())
            self._missed(request, trouble)
        except DibsError as trouble:
            self._missed(request, trouble)
        except Exception as error:  # noqa: BLE001 - who only watches must not break what it watches
            self._desk.tell(Stumbled(f"watching {request.name!r}", repr(error)))
        now = self._world.now()
        if isinstance(truly, Hold):
            let_go = partial(_let_go, self._world, self._desk, truly)
            return LooseHold(request, fence=truly.fence, now=now, waited=now - began_at, ended=let_go)
        if truly is not None:
            self._refused(request, truly, inside)
        hold = LooseHold(request, fence=0, now=now, waited=now - began_at)
        hold.unfenced_by = "mode='shadow'"
        return hold

    def _again(self, request: Request, outer: Hold) -> Hold:
        """One who may enter again does."""
        hold = LooseHold(request, fence=outer.fence, now=self._world.now())
        hold.unfenced_by = outer.unfenced_by
        return hold

    async def _tried(self, request: Request, take: Take) -> Hold | Denied | None:
        """Ask for the true lock, without a wait; not at all while the store is known to be silent."""
        trouble = self._outage.standing(self._world.now())
        if trouble is not None:
            self._missed(request, trouble)
            return None
        await self._settle_up(request.name)
        truly = await take(replace(request, wait=0.0, patience=LONGEST_DELAY - A_MOMENT, at_least=0.0))
        self._outage.end(self._desk, self._world.now())
        return truly

    async def _settle_up(self, name: str) -> None:
        """What we have let go of ourselves must be free again before we look."""
        for owner, debt in list(self._desk.debts.items()):
            if debt.name == name:
                with suppress(StoreUnreachable):
                    await self._world.ask(self._desk.store.leave(name, debt.leave), A_MOMENT)
                    self._desk.debts.pop(owner, None)

    def _refused(self, request: Request, denied: Denied, inside: Sequence[Hold]) -> None:
        name, holder = request.name, denied.held.who
        if not request.is_patient:
            self.fate = "skipped"
            self._desk.tell(WouldHaveSkipped(name, holder))
        elif inside:
            self._missed(request, SelfDeadlock(name, fence=inside[0].fence))
        else:
            self.fate = "waited"
            self._desk.tell(WouldHaveWaited(name, holder, denied.waiters))

    def _missed(self, request: Request, trouble: DibsError) -> None:
        if self._must_have_store or not isinstance(trouble, StoreUnreachable) or not trouble.is_outage:
            self.fate = "failed"
            self._desk.tell(WouldHaveFailed(request.name, str(trouble)))


def _let_go(world: World, desk: Desk, truly: Hold, memo: Memo | None) -> None:
    """Have the keeper say that we have left, and what we leave behind: nobody waits for that."""
    if not truly.end():
        return
    desk.strike(truly)
    is_ours = truly.lost_because is None
    leave = Leave(truly.owner, truly.bar_until, memo if is_ours else None)
    note_debt(world, desk, truly.name, leave, ttl=truly.request.ttl)
    if is_ours:
        desk.let_go(truly, world.now())
        desk.tell(Released(truly.name, truly.fence, truly.held_for(world.now())))
