"""What the keeper does: renews leases, keeps tickets alive, repeats what is owed, tells of losses."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.events import Abandoned, HeldLong, StoreBack, StoreSilent, Stumbled
from dibs.flows.desk import RETRY, Debt, Waiting, owe, tell_loss
from dibs.flows.hold import FORGOTTEN, Hold
from dibs.model.asks import Granted, KeepAlive, KeepAnswer, Leave, Queued, Renew, Said
from dibs.model.request import PATIENCE
from dibs.model.tenure import Tenure, Verdict
from dibs.ports.world import AskAgain, Handed, StillQueued

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.flows.desk import Desk
    from dibs.ports.world import Inbox, World

BATCH = 1_000
"""The most leases and tickets that one command renews."""


_Kept = tuple[Hold | Waiting, KeepAlive | Renew]


class Keeper:
    """Looks after one desk, round after round, and outlives every error."""

    def __init__(self, world: World, desk: Desk) -> None:
        self._world, self._desk = world, desk
        self._silent_since: float | None = None

    async def serve(self, inbox: Inbox) -> None:
        """Go round whenever something is due or the desk nudges, until it is closed."""
        while not self._desk.is_closed:
            self._desk.wakes_at = inf
            await self._round()
            self._desk.wakes_at = self._due_at()
            await inbox.next(max(self._desk.wakes_at - self._world.now(), 0.0))

    async def _round(self) -> None:
        try:
            self._judge()
            self._collect_abandoned()
            await self._keep()
            await self.pay()
        except StoreUnreachable as error:
            self._found_silent(error)
        except Exception as error:  # noqa: BLE001 - the keeper must outlive whatever this was
            self._desk.tell(Stumbled("keeping leases", repr(error)))
            await self._world.pause(RETRY)
        self._judge()

    def _judge(self) -> None:
        """Tell of every loss that has come to light, and of holds that last suspiciously long."""
        now = self._world.now()
        for hold in list(self._desk.holds.values()):
            if hold.check(now) is Verdict.LOST:
                tell_loss(self._desk, hold)
            elif hold.is_newly_long(now):
                self._desk.tell(HeldLong(hold.name, hold.fence, hold.held_for(now), hold.request.ttl))

    def _collect_abandoned(self) -> None:
        """Leases that were dropped without a release: nobody works under them any more."""
        while self._desk.abandoned:
            hold = self._desk.abandoned.pop()
            self._desk.tell(Abandoned(hold.name, hold.fence))
            owe(self._world, self._desk, hold.name, Leave(hold.owner, hold.bar_until), ttl=hold.request.ttl)

    async def _keep(self) -> None:
        now = self._world.now()
        everything: list[_Kept] = [*_leases_due(self._desk, now), *_tickets_due(self._desk, now)]
        for start in range(0, len(everything), BATCH):
            await self._keep_batch(everything[start : start + BATCH])

    async def _keep_batch(self, batch: Sequence[_Kept]) -> None:
        asked_at = self._world.now()
        command = self._desk.store.keep([(item.name, ask) for item, ask in batch])
        answers = await self._world.ask(command, self._time_to_answer(asked_at))
        self._found_answering()
        for (item, ask), answer in zip(batch, answers, strict=True):
            self._heard(item, Tenure(ask.ttl, asked_at), answer)

    def _heard(self, item: Hold | Waiting, tenure: Tenure, answer: KeepAnswer) -> None:
        if isinstance(item, Waiting):
            item.inbox.put(_wake(tenure, answer))
        elif answer is Said.KEPT:
            item.prolong(tenure, self._world.now())
        else:
            item.lose(FORGOTTEN)

    async def pay(self) -> None:
        """Repeat the leaves that were not answered; one that is, whatever the answer, is paid."""
        now = self._world.now()
        for owner, debt in list(self._desk.debts.items()):
            if debt.forget_at <= now:
                self._desk.debts.pop(owner, None)
            elif debt.due_at <= now:
                await self._pay_one(owner, debt)

    async def _pay_one(self, owner: str, debt: Debt) -> None:
        now = self._world.now()
        debt.due_at = now + RETRY
        await self._world.ask(self._desk.store.leave(debt.name, debt.leave), self._time_to_answer(now))
        self._found_answering()
        self._desk.debts.pop(owner, None)

    def _time_to_answer(self, now: float) -> float:
        """No longer than until a lease is lost, so that its holder is told within the margin."""
        ends = min((hold.tenure.tell_by for hold in list(self._desk.holds.values())), default=inf)
        return min(PATIENCE, max(ends - now, 0.0))

    def _due_at(self) -> float:
        desk = self._desk
        dues = [min(hold.renew_at(), hold.tenure.trusted_until) for hold in list(desk.holds.values())]
        dues += [ticket.keep_at for ticket in list(desk.tickets.values())]
        dues += [debt.due_at for debt in list(desk.debts.values())]
        return min(dues, default=inf)

    def _found_silent(self, error: StoreUnreachable) -> None:
        if self._silent_since is None:
            self._silent_since = self._world.now()
            self._desk.tell(StoreSilent(error.server, error.why))

    def _found_answering(self) -> None:
        if self._silent_since is not None:
            self._desk.tell(StoreBack(self._world.now() - self._silent_since))
            self._silent_since = None


def _leases_due(desk: Desk, now: float) -> list[_Kept]:
    """What is to be renewed, and what soon would be: so leases fall into step and share their batches."""
    holds = list(desk.holds.values())
    if all(hold.renew_at() > now for hold in holds):
        return []
    due: list[_Kept] = []
    for hold in holds:
        ttl = hold.renewal(now)
        if ttl is not None and hold.renew_at() <= now + hold.request.ttl / 6:
            hold.retry_at = now + hold.request.ttl / 10
            due.append((hold, Renew(hold.owner, hold.fence, ttl)))
    return due


def _tickets_due(desk: Desk, now: float) -> list[_Kept]:
    """The tickets to keep alive. A hung loop's is let go, or it would eat one TTL after another."""
    due: list[_Kept] = []
    for ticket in list(desk.tickets.values()):
        if ticket.keep_at <= now:
            ticket.kept_at = now
            if now - ticket.inbox.ran_at() <= ticket.ttl / 2:
                due.append((ticket, KeepAlive(ticket.owner, ticket.ttl)))
    return due


def _wake(tenure: Tenure, answer: KeepAnswer) -> Handed | StillQueued | AskAgain:
    match answer:
        case Granted(fence):
            return Handed(fence, tenure.asked_at)
        case Queued(ask_again_in=again):
            return StillQueued(again)
        case _:
            return AskAgain()
