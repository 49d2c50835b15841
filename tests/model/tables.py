"""A lock to which things happen one after another."""

from __future__ import annotations

from dataclasses import dataclass, field

from dibs.model.asks import Acquire, Answer, Ask, Granted, Memo, Push, Queued
from dibs.model.lock import LockState
from dibs.model.succession import Moment
from dibs.model.table import turn

NOW = 1_000.0
TTL = 30.0
FENCE = int(NOW * 1_000_000)


def acquire(
    owner: str, *, ttl: float = TTL, not_after: float = NOW + 1_000, queue: bool = True, room: int = 1, depth: int = 0
) -> Acquire:
    told = (f"{owner}'s channel", f"{owner}'s host", f"{owner}'s purpose")
    return Acquire(owner, ttl, not_after, *told, queue=queue, room=room, depth=depth)


def handed(owner: str, fence: int) -> Push:
    return Push(f"{owner}'s channel", owner, fence, "handed")


@dataclass
class Table:
    """One lock, the store's clock and counter, and who does not listen."""

    lock: LockState = field(default_factory=LockState)
    now: float = NOW
    last_fence: int = 0
    deaf: set[str] = field(default_factory=set[str])
    pushes: tuple[Push, ...] = ()
    memo: Memo | None = None

    @property
    def moment(self) -> Moment:
        return Moment(self.now, self.last_fence, self.listens)

    def ask(self, ask: Ask) -> Answer:
        done = turn(self.lock, ask, self.moment)
        self.lock, self.last_fence, self.pushes, self.memo = done.lock, done.last_fence, done.pushes, done.memo
        return done.answer

    def granted(self, owner: str, *, ttl: float = TTL, room: int = 1, depth: int = 0) -> int:
        answer = self.ask(acquire(owner, ttl=ttl, room=room, depth=depth))
        assert isinstance(answer, Granted)
        return answer.fence

    def queued(self, owner: str, *, ttl: float = TTL, room: int = 1) -> Queued:
        answer = self.ask(acquire(owner, ttl=ttl, room=room))
        assert isinstance(answer, Queued)
        return answer

    def listens(self, channel: str) -> bool:
        return channel not in {f"{owner}'s channel" for owner in self.deaf}

    @property
    def holder(self) -> str | None:
        return self.lock.holder.owner if self.lock.holder else None

    @property
    def inside(self) -> list[str]:
        return [holder.owner for holder in self.lock.holders]

    @property
    def waiting(self) -> list[str]:
        return [ticket.owner for ticket in self.lock.queue]
