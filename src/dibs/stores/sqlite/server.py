"""The transition table of the model, said in SQL: one turn is one write transaction on a few rows.

What has expired is dropped when it is met, by rows of the one lock that is asked about; nothing here looks at all
locks, or at the whole of a long queue, except to list them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dibs.model.asks import (
    KEPT,
    RELEASED,
    Acquire,
    AllAnswer,
    Answer,
    Ask,
    Busy,
    Evict,
    Granted,
    Hindrance,
    KeepAlive,
    Leave,
    Push,
    Queued,
    Renew,
    Said,
    StillQueued,
)
from dibs.model.fence import next_fence
from dibs.model.lock import Holder, held
from dibs.model.table import MOST_WAITERS
from dibs.stores.sqlite.histories import Histories, lines
from dibs.stores.sqlite.records import count, counted, recalled, remember
from dibs.stores.sqlite.row import LOOK, RAISE_FENCE, Row, Ticket
from dibs.stores.sqlite.schema import check
from dibs.stores.sqlite.sheets import Amendment, due, named, read
from dibs.stores.sqlite.views import view, views

if TYPE_CHECKING:
    from dibs.model.counts import Count
    from dibs.model.sheet import Change


class SqliteTurn:
    """One command, carried out within a transaction that is open already."""

    def __init__(
        self, db: sqlite3.Connection, now: float, wall: float, boot: str, listens: Callable[[str], bool]
    ) -> None:
        self._db, self._now, self._wall, self._boot, self._listens = db, now, wall, boot, listens
        self.pushes: list[Push] = []

    def execute(self, words: Sequence[Any]) -> Any:
        """Do it; what is to be told to others is in `pushes` then."""
        match words:
            case ("ask", name, ask):
                answer: Any = self.turn(name, ask)
            case ("keep", asks):
                answer = [self.turn(name, ask) for name, ask in asks]
            case ("all", asks):
                answer = self.turn_all(asks)
            case ("inspect", name):
                answer = view(self._db, name, now=self._now, wall=self._wall)
            case ("held", prefix, limit):
                answer = views(self._db, prefix, limit, now=self._now, wall=self._wall)
            case ("recall", name):
                answer = recalled(self._db, name, wall=self._wall)
            case ("count", space, counts):
                answer = None
                self._count(space, counts)
            case ("counted", space):
                answer = counted(self._db, space)
            case ("due" | "sheets" | "amend" | "named" | "note" | "lines" as what, space, *more):
                answer = self._of_jobs(space, what, *more)
            case _:
                answer = self._now
        return answer

    def turn(self, name: str, ask: Ask) -> Answer:
        """Do one cell of the table, then serve the queue."""
        lock = self._look(name)
        answer = _CELLS[type(ask)](self, lock, ask)
        if lock.waiters and not lock.is_full:
            fence = self._serve(lock, asker=getattr(ask, "owner", "") if answer is None else "")
            answer = answer if fence is None else Granted(fence)
        if answer is None:
            answer = self._found(lock, ask)
        lock.keep()
        return answer

    def turn_all(self, asks: Sequence[tuple[str, Acquire]]) -> AllAnswer:
        """Several locks, or none: what was done for those before the first that is not granted is undone."""
        grants: list[Granted] = []
        self._db.execute("SAVEPOINT none_taken")
        for name, ask in asks:
            answer = self.turn(name, replace(ask, queue=False))
            if answer is Said.REFUSED or isinstance(answer, Busy):
                self._db.execute("ROLLBACK TO none_taken")
                self.pushes.clear()
                return Hindrance(len(grants), answer)
            if isinstance(answer, Granted):
                grants.append(answer)
        return grants

    def _count(self, space: str, counts: Sequence[Count]) -> None:
        self._check()
        count(self._db, space, counts)

    def _of_jobs(self, space: str, what: str, *more: Any) -> Any:
        match what:
            case "due":
                return due(self._db, space, *more, wall=self._wall)
            case "sheets":
                return read(self._db, space, *more, wall=self._wall)
            case "amend":
                return self._amend(space, *more)
            case "named":
                return named(self._db, space, *more, wall=self._wall)
            case "note":
                return self._note(space, *more)
            case _:
                return lines(self._db, space, *more)

    def _amend(self, space: str, changes: Sequence[Change]) -> Sequence[int]:
        last_fence = self._check()
        amendment = Amendment(self._db, space, last_fence, wall=self._wall)
        revisions = [amendment.amend(change) for change in changes]
        if amendment.last_fence != last_fence:
            self._db.execute(RAISE_FENCE, (amendment.last_fence,))
        return revisions

    def _note(self, space: str, change: Change) -> None:
        self._check()
        Histories(self._db, space, self._wall).note(change)

    def _check(self) -> int:
        """That the file is still ours; gives the last fence."""
        found, last_boot, last_fence = self._db.execute("SELECT format, boot, last_fence FROM store").fetchone()
        check(found, last_boot, self._boot)
        return int(last_fence)

    def _look(self, name: str) -> Row:
        """The lock without what has expired."""
        found = self._db.execute(LOOK, (name, self._boot)).fetchone()
        if not found[0]:
            self._check()
        lock = Row(self._db, name, found)
        lock.drop_expired(self._now)
        return lock

    # The cells of the table. Each gives an answer only where serving the queue cannot change it.

    def acquire(self, lock: Row, ask: Acquire) -> Answer | None:
        """Take the lock or a place in the queue."""
        if self._now > ask.not_after or lock.is_barred(ask.owner, self._now):
            return Said.REFUSED
        if (mine := lock.held_by(ask.owner)) is not None:
            return self._prolong(lock, mine, ask.ttl)
        if not lock.waiters and lock.has_room(ask.room):
            ticket = (0, ask.owner, ask.ttl, ask.channel, ask.who, ask.purpose, ask.seen, ask.room, ask.depth)
            return Granted(self._grant(lock, ticket))
        if ask.queue or not lock.is_full:
            self._join(lock, ask)
        return None

    def keep_alive(self, lock: Row, ask: KeepAlive) -> Answer | None:
        """Keep a place, or a lock that was handed over unheard."""
        if (mine := lock.held_by(ask.owner)) is not None:
            return self._prolong(lock, mine, ask.ttl)
        return None if lock.refresh(ask.owner, self._now + ask.ttl) else Said.GONE

    def renew(self, lock: Row, ask: Renew) -> Answer:
        """Keep a lease, and note how often its owner has entered."""
        mine = lock.held_by(ask.owner)
        if mine is None or mine.fence != ask.fence:
            return Said.GONE
        self._prolong(lock, mine._replace(depth=ask.depth) if ask.depth != mine.depth else mine, ask.ttl)
        return KEPT

    def leave(self, lock: Row, ask: Leave) -> Answer:
        """Give up a ticket or a lease."""
        if ask.bar_until is not None and ask.bar_until >= self._now:
            lock.bar(ask.owner, ask.bar_until)
        if (mine := lock.held_by(ask.owner)) is None:
            return Said.LEFT if lock.forget(ask.owner) else Said.GONE
        lock.vacate(mine)
        if ask.memo is not None:
            remember(self._db, lock.name, ask.memo, wall=self._wall)
        return RELEASED

    def evict(self, lock: Row, ask: Evict) -> Answer:
        """Take the lock from the one who holds it by that fence."""
        if lock.holder is None:
            return Said.GONE
        if (found := lock.held_with(ask.fence)) is None:
            return Said.CHANGED
        self.pushes.append(Push(found.channel, found.owner, found.fence, "evicted"))
        lock.last_fence += 1
        lock.vacate(found)
        return Said.EVICTED

    # What the cells are made of.

    def _prolong(self, lock: Row, mine: Holder, ttl: float) -> Granted:
        lock.prolong(mine.until(self._now + ttl))
        return Granted(mine.fence)

    def _join(self, lock: Row, ask: Acquire) -> None:
        """Stand in the queue: as before if it did already, else at its end, unless that is too far away."""
        until = self._now + ask.ttl
        if not lock.refresh(ask.owner, until) and lock.waiters < MOST_WAITERS:
            lock.join(ask, until, self._wall)

    def _serve(self, lock: Row, asker: str) -> int | None:
        """Let the first live tickets in, as far as there is room; tell their processes.

        The one who asks is told by its answer: the fence, if it was let in.
        """
        granted = None
        deaf: set[str] = set()  # many tickets may be of one process that died
        for ticket in lock.tickets():
            owner, channel = ticket[1], ticket[3]
            if owner != asker and (channel in deaf or not self._listens(channel)):
                deaf.add(channel)
                continue
            if not lock.has_room(ticket[7]):
                break
            lock.serve(ticket[0])
            fence = self._grant(lock, ticket)
            if owner == asker:
                granted = fence
            else:
                self.pushes.append(Push(channel, owner, fence, "handed"))
            if lock.is_full:
                break
        return granted

    def _grant(self, lock: Row, ticket: Ticket) -> int:
        _, owner, ttl, channel, who, purpose, seen, room, depth = ticket
        fence = lock.last_fence = next_fence(last=lock.last_fence, now=self._wall, seen=seen)
        lock.enter(Holder(owner, fence, ttl, self._wall, self._now + ttl, channel, who, purpose, room, depth))
        return fence

    def _found(self, lock: Row, ask: Any) -> Answer:
        """The answer to one who wants the lock and has not got it: read off where the turn has left it."""
        first = lock.holder
        if first is None:
            return Said.REFUSED
        position = None if isinstance(ask, Acquire) and not ask.queue else lock.position(ask.owner)
        if position is None:
            lock.forget(ask.owner)
            return Busy(held(first, self._now), lock.waiters)
        again = min(lock.soonest_end(first) - self._now, lock.shortest)
        return Queued(position, again, held(first, self._now)) if isinstance(ask, Acquire) else StillQueued(again)


_CELLS: Mapping[type[Ask], Callable[[SqliteTurn, Row, Any], Answer | None]] = {
    Acquire: SqliteTurn.acquire,
    KeepAlive: SqliteTurn.keep_alive,
    Renew: SqliteTurn.renew,
    Leave: SqliteTurn.leave,
    Evict: SqliteTurn.evict,
}
