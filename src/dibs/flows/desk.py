"""What one client has in hand: leases, tickets and debts, for its keeper to look after."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from dibs.events import Lost, Stumbled
from dibs.flows.hold import EVICTED
from dibs.model.asks import StillQueued
from dibs.model.request import PATIENCE
from dibs.ports.world import AskAgain, Handed, Taken

if TYPE_CHECKING:
    from collections.abc import Callable
    from weakref import ReferenceType

    from dibs.events import Event
    from dibs.flows.counting import Tally
    from dibs.flows.hold import Hold
    from dibs.flows.recording import Ledger
    from dibs.model.asks import Leave, Push
    from dibs.model.counts import What
    from dibs.model.holding import Ended
    from dibs.ports.store import Store
    from dibs.ports.world import Inbox, Wake, World

RETRY = 0.25
"""How soon a leave that was not answered is sent again."""


@dataclass(slots=True)
class Waiting:
    """A ticket of ours in the store's queue."""

    name: str
    owner: str
    ttl: float
    kept_at: float
    unanswered_since: float | None = None

    @property
    def keep_at(self) -> float:
        """When to tell the store that we still wait."""
        return self.kept_at + self.ttl / 3


@dataclass(slots=True)
class Debt:
    """A leave that the store has not answered yet, to be repeated until it does."""

    name: str
    leave: Leave
    unanswered_since: float
    due_at: float
    forget_at: float
    earliest: float
    """It is not to be said before this, not even as a last word."""
    tries: int = 0


@dataclass(slots=True)
class Desk:
    """Shared by the flows of one client; every change is a single step on a dict, so threads may share it too."""

    store: Store
    server: str
    tell: Callable[[Event], None]
    who: str
    nudge: Callable[[], None]
    is_heard: bool = True
    """Whether anybody listens to what is told: what happens with every lock is not put into words for nobody."""
    holds: dict[str, Hold] = field(default_factory=dict["str", "Hold"])
    tickets: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    debts: dict[str, Debt] = field(default_factory=dict[str, Debt])
    inboxes: dict[str, ReferenceType[Inbox]] = field(default_factory=dict["str", "ReferenceType[Inbox]"])
    abandoned: list[Hold] = field(default_factory=list["Hold"])
    seen_fence: int = 0
    is_closed: bool = False
    wakes_at: float = inf
    tally: Tally | None = None
    """Where what happens is counted, if anybody is to know."""
    ledger: Ledger | None = None
    """Where it is noted who held what, if anybody is to know."""
    patience: float = PATIENCE
    """How long the store may be silent before a caller is told, where no `wait` says otherwise."""

    @property
    def is_clear(self) -> bool:
        """Whether there is nothing to look after."""
        return not (self.holds or self.tickets or self.debts or self.abandoned)

    def enrol(self, hold: Hold) -> None:
        """Take a lease into the keeper's care."""
        self.seen_fence = max(self.seen_fence, hold.fence)
        self.holds[hold.owner] = hold
        if hold.tenure.renew_at < self.wakes_at:
            self.look_after(min(hold.renew_at(), hold.tenure.trusted_until))

    def count(self, name: str, what: What, lasted: float = 0.0) -> None:
        """It happened to this lock, once more, and lasted so long."""
        if self.tally is not None and self.tally.note(name, what, lasted):
            self.nudge()

    def let_go(self, hold: Hold, now: float) -> None:
        """It was given back: that is counted, and noted."""
        lasted = hold.held_for(now)
        if self.ledger is not None:
            self.ledger.let_go(hold, lasted, now)
        if self.tally is not None and self.tally.note(hold.name, "held", lasted):
            self.nudge()

    def note_end(self, hold: Hold, ended: Ended) -> None:
        """It ended so, and was not given back."""
        if self.ledger is not None:
            self.ledger.end(hold, ended)

    def strike(self, hold: Hold) -> None:
        """Take a lease out of the keeper's care."""
        self.holds.pop(hold.owner, None)

    def abandon(self, hold: Hold) -> None:
        """Its user has dropped a lease, released or not. The garbage collector calls this: only leave a note."""
        if not hold.is_over:
            self.abandoned.append(hold)
            self.nudge()

    def inbox(self, owner: str) -> Inbox | None:
        """Where the flow of that owner waits; `None` once it has ended, however it did."""
        found = self.inboxes.get(owner)
        return None if found is None else found()

    def look_after(self, due_at: float) -> None:
        """See to it that the keeper is awake by then."""
        if due_at < self.wakes_at:
            self.wakes_at = due_at
            self.nudge()

    def deliver(self, push: Push, asked_at: float) -> None:
        """Pass on what the store told us unasked; what it answered before that, we had asked at `asked_at`."""
        if (inbox := self.inbox(push.owner)) is not None:
            inbox.put(_wake(push, asked_at))
        # Inbox first, then hold, while one who enters does it the other way round: so neither misses the other.
        hold = self.holds.get(push.owner)
        if push.kind == "evicted" and hold is not None and hold.fence == push.fence:
            hold.lose(EVICTED)
            self.nudge()

    def paid(self, owner: str) -> None:
        """The store has answered what was owed to it.

        If it was said before, that answer is lost; and with it, perhaps, that the lock is another's of ours by now. So
        whoever waits for it asks again.
        """
        debt = self.debts.pop(owner, None)
        if debt is None or not debt.leave.channel:
            return
        for ticket in list(self.tickets.values()):
            if ticket.name == debt.name and (inbox := self.inbox(ticket.owner)) is not None:
                inbox.put(AskAgain())

    def ask_again(self) -> None:
        """A connection was lost, and pushes with it perhaps: whoever waits asks again."""
        for owner in list(self.inboxes):
            if (inbox := self.inbox(owner)) is not None:
                inbox.put(AskAgain())


def _wake(push: Push, asked_at: float) -> Wake:
    if push.kind == "woken":
        return StillQueued(push.within) if push.within else AskAgain()
    return Handed(push.fence, asked_at) if push.kind == "handed" else Taken(push.fence)


def owe(world: World, desk: Desk, name: str, leave: Leave, *, ttl: float) -> None:
    """Leave without waiting; whatever is not answered stays owed, and the keeper repeats it.

    After four TTLs nothing is left that could be taken back: an ask lands within one, waits in the queue for one, and
    holds the lock for one; the store has dropped it by itself.
    """
    note_debt(world, desk, name, leave, ttl=ttl, due_in=RETRY)
    world.later(desk.store.leave(name, leave), lambda _: desk.paid(leave.owner))


def note_debt(
    world: World, desk: Desk, name: str, leave: Leave, *, ttl: float, due_in: float = 0.0, stays: float = 0.0
) -> None:
    """Leave it to the keeper to say that we have left; not before the time is over that the lock `stays` taken."""
    now = world.now()
    since = now + stays
    debt = desk.debts[leave.owner] = Debt(name, leave, since, since + due_in, since + 4 * ttl + RETRY, since)
    desk.look_after(debt.due_at)


def tell_loss(desk: Desk, hold: Hold) -> None:
    """Tell everybody who wants to know that a lease was lost, if it was; once."""
    loss = hold.loss()
    if loss is None or not hold.first_to_tell():
        return
    desk.note_end(hold, "broken" if loss.reason == EVICTED else "lost")
    desk.count(hold.name, "lost")
    desk.tell(Lost(hold.name, hold.fence, loss.reason))
    for watcher in hold.watchers:
        try:
            watcher(loss)
        except BaseException as error:  # noqa: BLE001 - one that fails, or ends its thread, must not stop the others
            desk.tell(Stumbled(f"telling of the loss of {hold.name!r}", repr(error)))
