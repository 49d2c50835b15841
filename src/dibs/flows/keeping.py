"""What the keeper does: renews leases, keeps tickets alive, repeats what is owed, tells of losses.

It never waits for an answer: whatever it sends is sent in passing, and the answer is heard when it comes. So a
silent store cannot keep it from telling a holder, in time, that its lease is over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from dibs.errors import StoreUnreachable
from dibs.events import Abandoned, HeldLong, StoreBack, StoreSilent, Stumbled
from dibs.flows.asking import ask
from dibs.flows.counting import report, report_if_due
from dibs.flows.desk import RETRY, Waiting, note_debt, tell_loss
from dibs.flows.hold import FORGOTTEN, Hold
from dibs.flows.recording import record, record_if_due
from dibs.model.asks import KEPT, Granted, KeepAlive, KeepAnswer, Leave, Renew, StillQueued
from dibs.model.backoff import backoff
from dibs.model.request import A_MOMENT, PATIENCE
from dibs.model.tenure import LOST, Tenure
from dibs.ports.store import PartedStore
from dibs.ports.world import AskAgain, Handed

if TYPE_CHECKING:
    from dibs.flows.desk import Debt, Desk
    from dibs.ports.world import Inbox, World

SOON = 0.25
"""How long it sleeps when there is nothing to look after: what is taken and given back meanwhile need not wake it."""
BATCH = 1_250
"""The most leases and tickets that one command renews."""

LAST_WORD = 0.25
"""How long one who hangs up stays to see its counts added: nobody is to wait for them."""

_Kept = tuple[Hold | Waiting, KeepAlive | Renew]


class Keeper:
    """Looks after one desk, round after round, and outlives every error."""

    def __init__(self, world: World, desk: Desk) -> None:
        self._world, self._desk = world, desk
        self._silent_since: float | None = None

    async def serve(self, inbox: Inbox, idle: float = inf) -> None:
        """Go round whenever something is due or the desk nudges, until it is closed or has been empty for long."""
        ends_at: float | None = None
        while not self._desk.is_closed:
            inbox.arrived()  # whatever nudged us so far is seen in this round
            self._desk.wakes_at = inf
            try:
                self._go_round()
            except Exception as error:  # noqa: BLE001 - the keeper must outlive whatever this was
                self._desk.tell(Stumbled("keeping leases", repr(error)))
                await self._world.pause(RETRY)
            now, due_at = self._world.now(), self._due_at()
            if due_at < inf:
                ends_at = None
            else:
                ends_at = now + idle if ends_at is None else ends_at
                if now >= ends_at:
                    return
                due_at = min(now + SOON, ends_at) if idle < inf else inf
            self._desk.wakes_at = due_at
            if await inbox.next(max(due_at - now, 0.0)) is not None:
                ends_at = None

    def _go_round(self) -> None:
        now = self._world.now()
        record_if_due(self._world, self._desk, now)
        report_if_due(self._world, self._desk, now)
        if self._desk.is_clear:
            self._silent_since = None
            return
        self._judge(now)
        self._collect_abandoned()
        due = [*_leases_due(self._desk, now), *_tickets_due(self._world, self._desk, now)]
        for part in _parts(self._desk, due):
            for start in range(0, len(part), BATCH):
                self._keep(part[start : start + BATCH], now)
        self._repeat_debts(now)
        self._note_silence(now)

    def _judge(self, now: float) -> None:
        """Tell of every loss that has come to light, and of holds that last suspiciously long."""
        for hold in list(self._desk.holds.values()):
            if hold.check(now) is LOST:
                self._desk.strike(hold)
                tell_loss(self._desk, hold)
            elif hold.is_forsaken():
                self._desk.abandoned.append(hold)
            elif hold.is_newly_long(now):
                self._desk.tell(HeldLong(hold.name, hold.fence, hold.held_for(now), hold.request.ttl))

    def _collect_abandoned(self) -> None:
        """Leases that were dropped without a release: nobody works under them any more."""
        while self._desk.abandoned:
            hold = self._desk.abandoned.pop()
            if not hold.end():
                continue
            self._desk.strike(hold)
            if hold.lost_because is None:
                self._desk.let_go(hold, self._world.now())
                self._desk.tell(Abandoned(hold.name, hold.fence))
            tell_loss(self._desk, hold)
            leave, stays = Leave(hold.owner, hold.bar_until), hold.stays_for(self._world.now())
            note_debt(self._world, self._desk, hold.name, leave, ttl=hold.request.ttl, stays=stays)

    def _keep(self, batch: Sequence[_Kept], asked_at: float) -> None:
        for item, _ in batch:
            item.unanswered_since = item.unanswered_since or asked_at
        command = self._desk.store.keep([(item.name, asked) for item, asked in batch])
        self._world.later(command, partial(self._heard, batch, asked_at))

    def _heard(self, batch: Sequence[_Kept], asked_at: float, answers: Sequence[KeepAnswer]) -> None:
        now = self._world.now()
        self._note_answer(now)
        for (item, asked), answer in zip(batch, answers, strict=True):
            item.unanswered_since = None
            if isinstance(item, Waiting):
                if (inbox := self._desk.inbox(item.owner)) is not None:
                    inbox.put(_wake(asked_at, answer))
            elif answer is KEPT:
                self._desk.count(item.name, "renewed")
                item.prolong(Tenure(asked.ttl, asked_at), now)
            else:
                item.lose(FORGOTTEN)
                self._desk.nudge()

    def _repeat_debts(self, now: float) -> None:
        """Say again what was not answered; once it is, whatever the answer, it is paid."""
        for owner, debt in list(self._desk.debts.items()):
            if debt.forget_at <= now:
                self._desk.debts.pop(owner, None)
            elif debt.due_at <= now:
                debt.tries += 1
                debt.due_at = now + RETRY + backoff(debt.tries, owner)
                self._world.later(self._desk.store.leave(debt.name, debt.leave), partial(self._paid, owner))

    def _paid(self, owner: str, _: object) -> None:
        self._note_answer(self._world.now())
        self._desk.paid(owner)

    def _due_at(self) -> float:
        desk = self._desk
        dues = [min(hold.renew_at(), hold.tenure.trusted_until) for hold in list(desk.holds.values())]
        dues += [ticket.keep_at for ticket in list(desk.tickets.values())]
        dues += [debt.due_at for debt in list(desk.debts.values())]
        dues += [] if desk.tally is None else [desk.tally.due_at]
        dues += [] if desk.ledger is None else [desk.ledger.due_at]
        return min(dues, default=inf)

    def _note_silence(self, now: float) -> None:
        """Tell once that something we still care for has not been answered for long."""
        desk = self._desk
        asked: list[Hold | Waiting | Debt] = [*list(desk.holds.values()), *list(desk.tickets.values())]
        asked += list(desk.debts.values())
        since = min((item.unanswered_since for item in asked if item.unanswered_since is not None), default=now)
        if now - since > PATIENCE and self._silent_since is None:
            self._silent_since = since
            desk.tell(StoreSilent(desk.server, "what we ask is not answered"))

    def _note_answer(self, now: float) -> None:
        if self._silent_since is not None:
            self._desk.tell(StoreBack(now - self._silent_since))
            self._silent_since = None


async def settle(world: World, desk: Desk) -> None:
    """Before the line is hung up: say once more what is owed, what was counted and who held what; wait a little."""
    give_up_at = world.now() + PATIENCE
    for owner, debt in list(desk.debts.items()):
        if debt.earliest > world.now():
            continue  # the TTL will do it
        try:
            await ask(world, desk.store.leave(debt.name, debt.leave), max(give_up_at - world.now(), 0.0))
        except StoreUnreachable:
            return  # the TTL will do it
        desk.debts.pop(owner, None)
    with suppress(StoreUnreachable):  # then nobody will know
        await report(world, desk, LAST_WORD)
        await record(world, desk, LAST_WORD)


async def leave_queues(world: World, desk: Desk) -> None:
    """Before the line is hung up: those who wait cannot be served any more, so their tickets are given up for them."""
    tickets = [ticket for ticket in list(desk.tickets.values()) if ticket.owner not in desk.holds]
    at = world.store_time()
    if tickets and at is None:
        try:
            at = await world.ask(desk.store.time(), A_MOMENT)
        except StoreUnreachable:
            return  # their TTL will do it
    for ticket in tickets:
        _give_up(world, desk, ticket, at)


def _give_up(world: World, desk: Desk, ticket: Waiting, at: float | None) -> None:
    """Leave a queue for one who cannot, barring an ask of its that may still be on its way.

    Its `not_after` is within a TTL of what the asker took for the store's time; another TTL is for that guess. Where
    we have no guess of our own, nothing could be barred: then the ticket is left to its TTL.
    """
    desk.tickets.pop(ticket.owner, None)
    if at is not None:
        note_debt(world, desk, ticket.name, Leave(ticket.owner, at + 2 * ticket.ttl), ttl=ticket.ttl)


def _parts(desk: Desk, due: Sequence[_Kept]) -> Collection[Sequence[_Kept]]:
    """By the part of the store that has them, if it has any: should one be silent, the others are kept all the same."""
    if not isinstance(desk.store, PartedStore):
        return [due]
    parts: dict[int, list[_Kept]] = {}
    for kept in due:
        parts.setdefault(desk.store.part_of(kept[0].name), []).append(kept)
    return parts.values()


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
            due.append((hold, hold.to_renew(ttl)))
    return due


def _tickets_due(world: World, desk: Desk, now: float) -> list[_Kept]:
    """The tickets to keep alive, now or soon. A hung loop's is let go, or it would eat one TTL after another."""
    tickets, due = list(desk.tickets.values()), list[_Kept]()
    if all(ticket.keep_at > now for ticket in tickets):
        return due
    for ticket in tickets:
        if ticket.keep_at > now + ticket.ttl / 6:
            continue
        ticket.kept_at = now
        inbox = desk.inbox(ticket.owner)
        if desk.tickets.get(ticket.owner) is not ticket:
            continue  # since we looked it has stopped waiting: it may have got the lock
        if inbox is None:  # whoever waited was thrown out by a signal, say, and could not even leave
            desk.inboxes.pop(ticket.owner, None)
            _give_up(world, desk, ticket, world.store_time())
        elif now - inbox.ran_at() <= ticket.ttl / 2:
            due.append((ticket, KeepAlive(ticket.owner, ticket.ttl)))
        elif now - inbox.ran_at() > 2 * ticket.ttl:
            desk.tickets.pop(ticket.owner, None)
            inbox.put(AskAgain())
    return due


def _wake(asked_at: float, answer: KeepAnswer) -> Handed | StillQueued | AskAgain:
    match answer:
        case Granted(fence):
            return Handed(fence, asked_at)
        case StillQueued():
            return answer
        case _:
            return AskAgain()
