"""How one of several servers is asked, each for its part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dibs.model.asks import Granted, Said
from dibs.model.quorum import Absent, Register
from dibs.ports.store import Command
from dibs.stores.quorum.cells import CellStore, RedisCells
from dibs.stores.quorum.scripts import (
    ACQUIRE,
    ALL,
    CENSUS,
    CHRISTEN,
    ENTER,
    EVICT,
    KEEP,
    LEAVE,
    RAISE,
    RECALL,
    WITHDRAW,
)
from dibs.stores.redis.answers import MILLI, acquired, kept, recalled, said
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.resp import bulks, encode
from dibs.stores.redis.scripts import MICRO

if TYPE_CHECKING:
    from dibs.model.asks import (
        Acquire,
        AcquireAnswer,
        EvictAnswer,
        KeepAlive,
        KeepAnswer,
        Leave,
        LeaveAnswer,
        Recalled,
        Renew,
    )
    from dibs.model.quorum import Christening

Paper: TypeAlias = "tuple[Callable[[float], Sequence[Any]], Callable[[Any], AcquireAnswer | Absent]]"
"""How each of them is asked for its vote, once it is said until when it may be given; and how its answer is read."""
FORGETFUL = "it may forget in a crash what it has answered, and with it its vote: set appendfsync to always"
GRANTED, NEW = 1, 11
"""What a script answers on a server that has forgotten all."""


class NodeStore(CellStore, Protocol):
    """What one of several servers can be asked beside all that a single one is. Times are its own."""

    def introduction(self) -> Sequence[Command[object]]:
        """What it must be told before anything else."""
        ...

    def vote(self, name: str, ask: Acquire, floor: int) -> Paper:
        """Grant it a part of the lock, with a fence above this floor, or a ticket for it."""
        ...

    def raise_(self, name: str, owner: str, fence: int) -> Command[int | None]:
        """Give a hold this fence, and count from there: 0 if so, the counter if it is higher, `None` if it is gone."""
        ...

    def census(self) -> Command[Register]:
        """What it says of itself."""
        ...

    def christen(self, told: Christening, fresh: float | None) -> Command[float]:
        """From when on it counts, and from which fence; gives how long it still does not.

        If it may count now: since when it said, when the others were asked, that it has forgotten all.
        """
        ...

    def remembered(self, name: str) -> Command[Recalled | Absent]:
        """What was noted of the work done under this lock, unless it has forgotten all."""
        ...

    def fsync(self) -> Command[Sequence[str]]:
        """Whether it may forget what it has answered, and what to do about that."""
        ...


class RedisNode(RedisCells):
    """One Redis or Valkey server of several."""

    def __init__(self, namespace: str) -> None:
        keys = Keys(namespace)
        super().__init__(keys)
        self._born = bulks((f"{keys.prefix}~born".encode(),))
        self._own = keys.counter + self._born + bulks((f"{keys.prefix}~fresh".encode(),))

    def introduction(self) -> Sequence[Command[object]]:
        return [Command((script.load,), _as_it_is) for script in ALL]

    def vote(self, name: str, ask: Acquire, floor: int) -> Paper:
        script, fence, more = ACQUIRE, floor + 1, b""
        if ask.depth or ask.room != 1:
            script, fence, more = ENTER, floor, bulks((b"%d" % ask.room, b"%d" % ask.depth))
        wish = self._wishes(ask.ttl, ask.queue, ask.channel, ask.who, ask.purpose)
        head = script.head(keys=Keys.COUNT + 1, args=8 if more else 6)
        before = b"".join((head, self._keys.of(name), self._born, bulks((ask.owner.encode(),))))
        after = b"".join((bulks((b"%d" % fence,)), wish, more))

        def worded(not_after: float) -> Sequence[bytes]:
            until = b"%d" % (not_after * MICRO)
            return (b"%b$%d\r\n%b\r\n%b" % (before, len(until), until, after),)

        return worded, _voted

    def raise_(self, name: str, owner: str, fence: int) -> Command[int | None]:
        words = RAISE.head(keys=Keys.COUNT, args=2) + self._keys.of(name) + bulks((owner.encode(), b"%d" % fence))
        return Command((words,), _raised)

    def keep(self, asks: Sequence[tuple[str, KeepAlive | Renew]]) -> Command[Sequence[KeepAnswer]]:
        return _by(KEEP.sha, super().keep(asks), kept)

    def leave(self, name: str, ask: Leave) -> Command[LeaveAnswer]:
        if ask.fence is None:
            return _by(LEAVE.sha, super().leave(name, ask), said)
        words = bulks((ask.owner.encode(), b"%d" % ask.fence))
        return Command((WITHDRAW.head(keys=Keys.COUNT, args=2) + self._keys.of(name) + words,), said)

    def evict(self, name: str, fence: int) -> Command[EvictAnswer]:
        return _by(EVICT.sha, super().evict(name, fence), said)

    def remembered(self, name: str) -> Command[Recalled | Absent]:
        words = RECALL.head(keys=2, args=0) + self._keys.memo_of(name) + self._born
        return Command((words,), lambda answer: Absent.NEW if answer[1:] == [NEW] else recalled(answer))

    def census(self) -> Command[Register]:
        return Command((CENSUS.head(keys=3, args=0) + self._own,), _register)

    def christen(self, told: Christening, fresh: float | None) -> Command[float]:
        words = (told.counter, ceil(told.wait * MILLI), ceil(told.longest * MILLI), fresh or 0)
        head = CHRISTEN.head(keys=3, args=4)
        return Command((head + self._own + bulks(b"%d" % word for word in words),), lambda answer: answer[1] / MILLI)

    def fsync(self) -> Command[Sequence[str]]:
        return Command((encode("CONFIG", "GET", "appendfsync"),), _fsync)


SHA_AT = len(b"$7\r\nEVALSHA\r\n$40\r\n")


def _by(sha: bytes, command: Command[Any], read: Any) -> Command[Any]:
    """The same command, by another script."""
    words: bytes = command.words[0]
    start = words.index(b"\r\n") + 2 + SHA_AT
    return Command((words[:start] + sha + words[start + len(sha) :],), read)


def _voted(answer: Sequence[Any]) -> AcquireAnswer | Absent:
    if answer[1] == GRANTED:  # as nearly always
        return Granted(answer[2])
    if answer[1] == NEW:
        return Absent.NEW
    vote = acquired(answer)
    return Absent.LATE if vote is Said.REFUSED else vote


def _raised(answer: Sequence[Any]) -> int | None:
    match said(answer):
        case Said.KEPT:
            return 0
        case Said.CHANGED:
            counter: int = answer[2]
            return counter
        case _:
            return None


def _register(answer: Sequence[Any]) -> Register:
    _, counter, longest, *since = answer
    if not since:
        return Register(counter, longest / MILLI, is_born=True)
    return Register(counter, 0.0, is_born=False, silent_for=since[0] / MILLI, fresh=since[1])


def _fsync(answer: Any) -> Sequence[str]:
    words: Sequence[object] = [*answer, *answer.values()] if hasattr(answer, "values") else answer
    if b"always" in words:
        return ()
    return (FORGETFUL,)


def _as_it_is(answer: object) -> object:
    return answer
